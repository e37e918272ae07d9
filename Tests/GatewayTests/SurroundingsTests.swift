import Foundation
import Glibc
import TestSupport
import Testing

extension LiveGateway {
    /// What the machine around a gateway does to it: clocks that jump, descriptors that run out,
    /// signals that its parent had blocked.
    @Suite struct Surroundings {
        /// A library that adds to the time of day what a file says, in seconds; the steady clock is
        /// left alone.
        private func fakeClock(in directory: URL) throws -> (library: String, file: URL) {
            let source = directory.appendingPathComponent("clock.c")
            let library = directory.appendingPathComponent("clock.so").path
            let file = directory.appendingPathComponent("clock")
            let text = """
                #define _GNU_SOURCE
                #include <dlfcn.h>
                #include <fcntl.h>
                #include <stdlib.h>
                #include <time.h>
                #include <unistd.h>
                int clock_gettime(clockid_t clock, struct timespec *time) {
                    static int (*real)(clockid_t, struct timespec *);
                    if (!real) real = (int (*)(clockid_t, struct timespec *))
                        dlsym(RTLD_NEXT, "clock_gettime");
                    int result = real(clock, time);
                    if (clock != CLOCK_REALTIME) return result;
                    int fd = open(getenv("CLOCK_FILE"), O_RDONLY | O_CLOEXEC);
                    char words[32] = {0};
                    if (fd < 0) return result;
                    if (read(fd, words, sizeof words - 1) > 0) time->tv_sec += atol(words);
                    close(fd);
                    return result;
                }
                """
            try Data(text.utf8).write(to: source)
            try Data("0".utf8).write(to: file)
            let compiler = try ChildProcess(
                "/usr/bin/env", ["cc", "-shared", "-fPIC", "-o", library, source.path, "-ldl"],
                log: directory.appendingPathComponent("cc.log").path)
            let isDone = Deadline.after(.seconds(60)).poll { compiler.exitStatus != nil }
            try #require(isDone && compiler.exitStatus == 0)
            return (library, file)
        }

        @Test func aClockThatJumpedForAMomentHarmsNobody() throws {
            let gateway = try GatewayProcess(
                settings: ["auth.mode": "jwt", "upstream.kind": "embedded"], starts: false)
            let secret = gateway.directory.appendingPathComponent("secret")
            try Data(TestToken.secret.utf8).write(to: secret)
            gateway.settings["auth.jwt.secret_file"] = secret.path
            let (library, file) = try fakeClock(in: gateway.directory)
            gateway.launcher = ["env", "LD_PRELOAD=\(library)", "CLOCK_FILE=\(file.path)"]
            try gateway.start()
            func client() throws -> ChatTestClient {
                let client = try ChatTestClient(port: gateway.port)
                try client.request("connect", ["token": .string(TestToken(user: "alice").text)])
                return client
            }
            func jumped(_ times: Int) -> Bool {
                Deadline.standard.poll {
                    gateway.log.components(separatedBy: "event=clock_jumped").count == times + 1
                }
            }
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice"]])
            let early = try client()
            try early.request("sendMessage", ["conversation": "ops", "id": "m1", "body": "b"])
            // Two hours ahead: a token that is good for one has expired by the clock as it is now.
            try Data("7200".utf8).write(to: file)
            #expect(jumped(1))
            #expect(throws: (any Error).self) { try client() }
            try early.request("sendMessage", ["conversation": "ops", "id": "m2", "body": "b"])
            try Data("0".utf8).write(to: file)
            #expect(jumped(2))
            // The early client stays, and a late one is let in.
            let late = try client()
            try late.request("sendMessage", ["conversation": "ops", "id": "m3", "body": "b"])
            #expect(!early.connection.hasEnded)
            // What was written stands still until the clock has passed it.
            let page = try late.request("fetchMessages", ["conversation": "ops"])
            let times = page["messages"].array?.reversed().map { $0["createdAt"].string ?? "" }
            let created = try #require(times)
            #expect(created.count == 3 && created[0] < created[1] && created[1] == created[2])
            #expect(try gateway.health().json["status"] == "ok")
        }

        @Test func withoutDescriptorsPresentClientsAreServedAndHealthAnswers() throws {
            let gateway = try GatewayProcess(starts: false)
            gateway.launcher = ["sh", "-c", "ulimit -n 160; exec \"$@\"", "sh"]
            try gateway.start()
            #expect(gateway.logs("event=descriptors_few"))
            let alice = try gateway.client("alice")
            var strangers = try (0..<200).map { _ in try TCPSocket(port: gateway.port) }
            let isTold = Deadline.standard.poll {
                gateway.log.contains("event=descriptors_exhausted")
            }
            #expect(isTold)
            #expect(try alice.request("unsubscribeConversations") == [:])
            #expect(try gateway.health("/health/live").status == 200)
            #expect(try gateway.health().json["status"] == "degraded")
            let metrics = try gateway.health("/metrics").text
            let refused = metrics.split(separator: "\n").first {
                $0.hasPrefix("gapless_refused_connections_total ")
            }
            #expect((refused?.split(separator: " ").last.flatMap { Int($0) } ?? 0) > 50)
            strangers.removeAll()
            let isFree = Deadline.standard.poll { (try? gateway.client("bob")) != nil }
            #expect(isFree)
        }

        @Test func whatIsWrittenToALogThatWasRemovedIsRefusedAndNotLost() throws {
            let gateway = try GatewayProcess(settings: ["upstream.kind": "embedded"])
            let path = try #require(gateway.settings["cache.path"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice"]])
            try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
            let post = { (id: String) throws -> Int in
                try api.http.send(
                    "POST", "/v1/conversations/ops/messages",
                    json: ["id": .string(id), "author": "alice", "body": "b"]
                ).status
            }
            #expect(try post("m1") == 503)
            let isUnready = Deadline.standard.poll {
                (try? gateway.health("/health/ready").status) == 503
            }
            #expect(isUnready && gateway.logs("it was removed while it was open"))
            try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
            let isBack = Deadline.standard.poll { (try? post("m2")) == 201 }
            #expect(isBack)
            #expect(try gateway.terminate() == 0)
            try gateway.start()
            #expect(try gateway.client("alice").walkBack("ops") { 10 }.map { $0["id"] } == ["m2"])
        }

        @Test func aCertificateThatExpiresIsNamedUntilItIsRenewed() throws {
            let certificates = try Certificates()
            let pair = try certificates.issue(days: 10)
            let gateway = try GatewayProcess(settings: [
                "upstream.kind": "embedded", "listen.tls.certificate": pair.certificate,
                "listen.tls.key": pair.key,
            ])
            func isTold(_ words: String, days: ClosedRange<Int>, status: String) throws -> Bool {
                Deadline.standard.poll {
                    guard let health = try? gateway.health().json,
                        let left = try? gateway.metrics()["gapless_certificate_days_left"]
                    else { return false }
                    let troubles = health["troubles"].array ?? []
                    return days.contains(left) && health["status"].string == status
                        && gateway.logs(words)
                        && troubles.contains { $0["what"].string?.contains("expire") == true }
                            == (left < 30)
                }
            }
            func renew(days: Int) throws {
                try pair.replace(by: certificates.issue(days: days))
                gateway.signal(SIGHUP)
            }
            #expect(try isTold("event=certificate_expires", days: 9...10, status: "ok"))
            try renew(days: -1)
            // Clients refuse it, and the gateway goes on: a renewal needs no restart.
            #expect(try isTold("event=certificate_expired", days: -2 ... -1, status: "degraded"))
            #expect(try gateway.health("/health/ready").status == 200)
            try renew(days: 90)
            #expect(try isTold("the certificate", days: 89...90, status: "ok"))
        }

        @Test func aGatewayWhoseParentHadBlockedItsSignalsDrains() throws {
            let gateway = try GatewayProcess(starts: false)
            gateway.launcher = ["env", "--block-signal=TERM", "--block-signal=HUP"]
            try gateway.start()
            #expect(try gateway.terminate() == 0)
        }
    }
}
