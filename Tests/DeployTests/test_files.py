"""Each file of deploy/, shown to the tool that it is written for."""

import http.client
import json
import pathlib
import re
import tempfile
import unittest

import yaml

from processes import (
    DEPLOY, PROGRAM, REPOSITORY, Daemon, Gateway, free_port, run, text, wait_until)


def documents(path):
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def seconds(word):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)?", str(word)).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, None: 1}[unit]


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gapless-deploy-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def succeeds(self, *words, **more):
        status, said = run(*words, **more)
        self.assertEqual(status, 0, said)
        return said

    @property
    def drain_deadline(self):
        """The default, in seconds."""
        said = self.succeeds(PROGRAM, "genconfig")
        return seconds(re.search(r'deadline: "(\w+)"', said)[1])

    # systemd

    def test_the_unit_is_one_and_shut_in(self):
        unit = (DEPLOY / "systemd/gapless.service").read_text()
        file = self.folder / "gapless.service"
        file.write_text(unit.replace("/usr/local/bin/gapless", PROGRAM))
        self.assertEqual(self.succeeds("systemd-analyze", "verify", file), "")
        self.succeeds("systemd-analyze", "security", "--offline=true", "--threshold=15", file)
        value = dict(re.findall(r"^(\w+)=(.+)$", unit, re.MULTILINE))
        self.assertEqual(value["Type"], "notify")
        self.assertGreater(seconds(value["TimeoutStopSec"]), self.drain_deadline)
        # It waits for a predecessor that drains.
        self.assertGreater(seconds(value["TimeoutStartSec"]), self.drain_deadline + 10)

    def test_the_user_of_the_unit_is_made(self):
        (self.folder / "etc").mkdir()
        self.succeeds(
            "systemd-sysusers", f"--root={self.folder}", DEPLOY / "systemd/sysusers.conf")
        self.assertIn("gapless:", (self.folder / "etc/passwd").read_text())

    def test_the_kernel_knows_the_settings(self):
        lines = (DEPLOY / "systemd/sysctl.conf").read_text().splitlines()
        keys = [line.split("=")[0].strip() for line in lines if line and line[0] != "#"]
        self.assertGreater(len(keys), 5)
        for key in keys:
            self.assertTrue(pathlib.Path("/proc/sys", *key.split(".")).exists(), key)

    # Prometheus and Grafana

    def test_the_rules_pass_their_tests(self):
        monitoring = DEPLOY / "monitoring"
        self.succeeds("promtool", "check", "rules", monitoring / "alerts.yml")
        self.succeeds("promtool", "check", "config", monitoring / "prometheus.yml")
        self.succeeds("promtool", "test", "rules", monitoring / "alerts-test.yml")

    def test_prometheus_has_nothing_to_say_of_the_metrics(self):
        with Gateway() as gateway:
            gateway.converse("ops", "alice")
            gateway.say("ops", "alice", "one", "two")
            said = self.succeeds(
                "promtool", "check", "metrics", input=text(gateway.internal, "/metrics"))
        self.assertEqual(said, "")

    def test_the_dashboard_asks_what_prometheus_understands(self):
        dashboard = json.loads((DEPLOY / "monitoring/dashboard.json").read_text())
        panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
        self.assertGreater(len(panels), 20)
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}),
                         len(dashboard["panels"]))
        rules = []
        for panel in panels:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            self.assertTrue(panel["description"], panel["title"])
            for target in panel["targets"]:
                expression = target["expr"].replace("$__rate_interval", "1m")
                rules.append({"record": f"panel:{len(rules)}", "expr": expression})
        file = self.folder / "rules.yml"
        file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
        self.succeeds("promtool", "check", "rules", file)

    # The program's files

    def test_the_steps_of_an_update_leave_one_page(self):
        text = (DEPLOY / "reference/deployment.md").read_text()
        steps = text[text.index("## One gateway, with systemd"):].split("```")[1]
        steps = steps.strip().splitlines()[:3]
        self.assertIn("An update is the first three lines again", text)
        self.assertIn("bundle-page", steps[-1])
        trees = []
        for times in (1, 2):
            local = self.folder / str(times)
            (local / "bin").mkdir(parents=True)
            commands = "\n".join(steps).replace("/usr/local", str(local))
            commands = commands.replace("/etc/gapless", f"{local}/etc")
            commands = commands.replace(".build/release/gapless", str(PROGRAM))
            for _ in range(times):
                self.succeeds("sh", "-euc", commands, cwd=REPOSITORY)
            trees.append({
                path.relative_to(local): path.is_file() and path.read_bytes()
                for path in local.rglob("*")})
        self.assertIn(pathlib.Path("share/gapless/page/index.html"), trees[0])
        self.assertEqual(trees[0], trees[1])

    # Containers

    def test_the_image_says_whether_its_gateway_lives(self):
        """The command of HEALTHCHECK, as a container runs it."""
        lines = (DEPLOY / "Dockerfile").read_text()
        command = json.loads(re.search(r"HEALTHCHECK(?:.|\\\n)*?CMD (\[.*\])\n", lines)[1])
        with Gateway() as gateway:
            given = {"GAPLESS_LISTEN_INTERNAL": f"0.0.0.0:{gateway.internal.split(':')[1]}",
                     "PATH": "/usr/bin:/bin"}
            self.succeeds(*command, env=given)
            gateway.kill()
            self.assertNotEqual(run(*command, env=given)[0], 0)

    def test_the_image_knows_the_authorities(self):
        """Without them no `rediss://` and no `https://` would be believed."""
        text = (DEPLOY / "Dockerfile").read_text()
        self.assertIn("install-dependencies runtime", text[text.rindex("\nFROM "):])
        script = (DEPLOY / "install-dependencies").read_text()
        wanted = re.search(r"runtime\) (.*?);;", script, re.S)[1]
        self.assertIn("ca-certificates", wanted.split('"')[3].split())

    def test_the_containers_fit_together(self):
        compose, = documents(DEPLOY / "compose/compose.yaml")
        services = compose["services"]
        gateways = [name for name in services if name.startswith("gateway-")]
        self.assertEqual(len(gateways), 2)
        proxy = (DEPLOY / "compose/haproxy.cfg").read_text()
        caches = set()
        for name in gateways:
            self.assertIn(f"{name}:8000 port 9000", proxy)
            self.assertGreater(
                seconds(services[name]["stop_grace_period"]), self.drain_deadline)
            caches.update(services[name]["volumes"])
            build = services[name]["build"]
            context = (DEPLOY / "compose" / build["context"]).resolve()
            self.assertEqual(context, REPOSITORY)
            self.assertTrue((context / build["dockerfile"]).exists())
            self.succeeds(
                PROGRAM, "checkconfig", "--set", "listen.public=0.0.0.0:8000",
                env=services[name]["environment"])
        self.assertEqual(len(caches), 2, "each has a cache of its own")
        for ports in (service.get("ports", []) for service in services.values()):
            self.assertTrue(all(port.startswith("127.0.0.1:") for port in ports))
        self.succeeds("haproxy", "-c", "-f", DEPLOY / "compose/haproxy.cfg")

    def test_the_trial_takes_loopback_names_only(self):
        """It admits every client, so no page may reach it by a name that leads to this machine."""
        own = (DEPLOY / "compose/haproxy.cfg").read_text()
        # The resolver and the gateways are those of the containers' network.
        frontend = own[own.index("\nfrontend chat"):own.index("\nbackend gapless")]
        with Gateway() as gateway, Daemon() as proxy:
            port = free_port()
            file = proxy.path / "haproxy.cfg"
            file.write_text(
                "defaults\n    mode http\n    timeout connect 2s\n    timeout client 9s\n"
                "    timeout server 9s\n"
                + frontend.replace("bind :8080", f"bind 127.0.0.1:{port}")
                + f"\nbackend gapless\n    server a {gateway.address}\n")

            def status(host):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=9)
                try:
                    connection.request("GET", "/", headers={"Host": host})
                    return connection.getresponse().status
                except OSError:
                    return 0
                finally:
                    connection.close()

            proxy.start("haproxy", "-db", "-f", file)
            wait_until(lambda: status("localhost"), "HAProxy")
            own = ["localhost", "LOCALHOST:8080", "alice.localhost:8080", "127.0.0.1:8080",
                   "[::1]:8080"]
            others = ["example.org", "127.0.0.1.example.org", "localhost.example.org:8080",
                      "example.org:8080", "xlocalhost", ""]
            self.assertEqual({host: status(host) for host in own}, dict.fromkeys(own, 200))
            self.assertEqual({host: status(host) for host in others}, dict.fromkeys(others, 403))

    def test_the_readme_starts_the_containers_and_names_their_page(self):
        readme = (REPOSITORY / "README.md").read_text()
        file, port = re.search(
            r"docker compose --file (\S+) up --build +# http://127\.0\.0\.1:(\d+)/\?user=alice",
            readme).groups()
        self.assertEqual(REPOSITORY / file, DEPLOY / "compose/compose.yaml")
        compose, = documents(REPOSITORY / file)
        published, = compose["services"]["proxy"]["ports"]
        self.assertEqual(published, f"127.0.0.1:{port}:{port}")
        self.assertIn(f"bind :{port}\n", (DEPLOY / "compose/haproxy.cfg").read_text())
        # What it says to do to one of them names one that is there.
        for name in re.findall(r"kill --signal SIGTERM (\S+)", (REPOSITORY / file).read_text()):
            self.assertIn(name, compose["services"])

    # Kubernetes

    def manifests(self):
        folder = DEPLOY / "kubernetes"
        kustomization, = documents(folder / "kustomization.yaml")
        names = kustomization["resources"]
        there = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        self.assertEqual(set(names), there)
        return [folder / name for name in names]

    def test_the_manifests_are_of_the_schema(self):
        self.succeeds("kubernetes-validate", "--strict", *self.manifests())

    def test_the_pods_have_the_time_to_drain(self):
        objects = {(one["kind"], one["metadata"]["name"]): one
                   for path in self.manifests() for one in documents(path)}
        configuration = self.folder / "gapless.json5"
        written = objects["ConfigMap", "gapless"]["data"]["gapless.json5"]
        (self.folder / "jwt-secret").write_text("0123456789abcdef" * 4)
        (self.folder / "api-keys").write_text("0123456789abcdef")
        # The volumes of the pod are folders of this machine.
        for volume in ["/run/gapless/keys", "/var/lib/gapless"]:
            self.assertIn(volume, written)
            written = written.replace(volume, str(self.folder))
        configuration.write_text(written)
        said = self.succeeds(PROGRAM, "checkconfig", "--config", configuration)
        self.assertIn('auth.mode: "jwt"', said)
        pod = objects["StatefulSet", "gapless"]["spec"]["template"]["spec"]
        container, = pod["containers"]
        stop = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
        deadline = seconds(re.search(r'deadline: "(\w+)"', written)[1])
        self.assertGreater(pod["terminationGracePeriodSeconds"], stop + deadline)
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
            self.assertEqual(container[probe]["httpGet"]["port"], "internal")
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertEqual(ports, {"public": 8000, "internal": 9000})
        # The same user as in the image, and one that its volume belongs to.
        image = (DEPLOY / "Dockerfile").read_text()
        user = pod["securityContext"]["runAsUser"]
        self.assertIn(f"USER {user}:{pod['securityContext']['runAsGroup']}", image)
        rules = objects["Ingress", "gapless"]["spec"]["rules"]
        paths = [path["path"] for rule in rules for path in rule["http"]["paths"]]
        self.assertEqual(paths, ["/v1/ws"], "the server API stays inside")


if __name__ == "__main__":
    unittest.main()
