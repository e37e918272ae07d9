import assert from 'node:assert/strict';
import { test } from 'node:test';

class FakeSocket {
  static CLOSING = 2;

  constructor(url) {
    this.url = url;
    this.readyState = 1;
    this.isClosed = false;
  }

  close() { this.isClosed = true; }
}
globalThis.WebSocket = FakeSocket;
const { closeEarly, EarlyWebSocket } = await import(
  '../../../Sources/Page/components/early-socket.js');

function early(url, age) {
  const socket = new FakeSocket(url);
  socket.askedAt = performance.now() - age;
  globalThis.gaplessSocket = socket;
  return socket;
}

test('the socket that was opened early is taken once', () => {
  const socket = early('ws://a', 100);
  assert.equal(new EarlyWebSocket('ws://a', 'p'), socket);
  assert.notEqual(new EarlyWebSocket('ws://a', 'p'), socket);
  assert.equal(globalThis.gaplessSocket, null);
});

test('one of which the gateway is about to despair is not taken', () => {
  const socket = early('ws://a', 6_000);
  const taken = new EarlyWebSocket('ws://a', 'p');
  assert.notEqual(taken, socket);
  assert.equal(taken.url, 'ws://a');
  assert.ok(socket.isClosed);
});

test('one of another address, or that is closed, is not taken', () => {
  const other = early('ws://b', 100);
  assert.notEqual(new EarlyWebSocket('ws://a', 'p'), other);
  assert.ok(other.isClosed);
  const closed = early('ws://a', 100);
  closed.readyState = 3;
  assert.notEqual(new EarlyWebSocket('ws://a', 'p'), closed);
});

test('one that nobody wants is closed', () => {
  const socket = early('ws://a', 100);
  closeEarly();
  assert.ok(socket.isClosed);
});
