import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** What browsers call `WebSocket`, as far as the client uses it, for programs of older Node. */
export class NodeSocket {
  #socket;
  #input = Buffer.alloc(0);
  #isOpen = false;
  #isOver = false;
  #code = 1006;

  /**
   * @param {string} url
   * @param {string} protocol
   */
  constructor(url, protocol) {
    const { hostname, port, pathname } = new URL(url);
    this.#socket = connect(Number(port), hostname, () => this.#socket.write([
      `GET ${pathname} HTTP/1.1`, `Host: ${hostname}:${port}`, 'Upgrade: websocket',
      'Connection: Upgrade', `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      'Sec-WebSocket-Version: 13', `Sec-WebSocket-Protocol: ${protocol}`, '', '',
    ].join('\r\n')));
    this.#socket.on('data', (data) => {
      this.#input = Buffer.concat([this.#input, data]);
      this.#read();
    });
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#end());
  }

  send(text) { this.#write(TEXT, Buffer.from(text)); }

  close() {
    this.#write(CLOSE, Buffer.alloc(0));
    this.#socket.end();
  }

  #end() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onclose?.({ code: this.#code, reason: '' });
  }

  #read() {
    if (!this.#isOpen) {
      const end = this.#input.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!this.#input.toString('latin1', 0, end).includes(' 101 ')) {
        this.#socket.destroy();
        return;
      }
      this.#input = this.#input.subarray(end + 4);
      this.#isOpen = true;
      this.onopen?.();
    }
    for (let frame = this.#frame(); frame && !this.#isOver; frame = this.#frame()) {
      const { kind, body } = frame;
      if (kind === TEXT) this.onmessage?.({ data: body.toString('utf8') });
      if (kind === PING) this.#write(PONG, body);
      if (kind === CLOSE) {
        if (body.length >= 2) this.#code = body.readUInt16BE();
        this.#socket.end();
        this.#end();
      }
    }
  }

  /** The next whole frame; the gateway sends none in parts. */
  #frame() {
    const input = this.#input;
    if (input.length < 2) return null;
    let [length, at] = [input[1] & 127, 2];
    if (length === 126) [length, at] = [input.length < 4 ? Infinity : input.readUInt16BE(2), 4];
    else if (length === 127) {
      [length, at] = [input.length < 10 ? Infinity : Number(input.readBigUInt64BE(2)), 10];
    }
    if (input.length < at + length) return null;
    this.#input = input.subarray(at + length);
    return { kind: input[0] & 15, body: input.subarray(at, at + length) };
  }

  #write(kind, body) {
    if (this.#isOver || this.#socket.destroyed) return;
    const size = body.length;
    const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
    head[0] = 128 | kind;
    head[1] = 128 | (size < 126 ? size : size < 65_536 ? 126 : 127);
    if (head.length === 4) head.writeUInt16BE(size, 2);
    if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
    const mask = randomBytes(4);
    const masked = Buffer.from(body.map((byte, at) => byte ^ mask[at & 3]));
    this.#socket.write(Buffer.concat([head, mask, masked]));
  }
}
