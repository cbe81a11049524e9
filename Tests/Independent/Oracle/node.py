"""One real node: its home, its process, and its control socket (`Sources/Control`)."""

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess

BINARY = os.environ.get("WAYMARK", ".build/debug/waymark")
OPERANDS = ("id", "peer", "address", "operation", "record", "key", "value", "file", "files")
SECONDS = 60


class Refusal(Exception):
    """An error from a node, with its reason."""

    def __init__(self, answer):
        self.exit, self.code, self.message = answer["exit"], answer["code"], answer["message"]
        super().__init__(f"{self.exit} {self.code}: {self.message}")

    @property
    def is_unknown_command(self):
        return "There is no command" in self.message or "no option" in self.message


class HungUp(Exception):
    """The node ended before it answered."""


def typed(command, arguments):
    """A request as the words that a person types."""
    words = command.split(".")
    for name in OPERANDS:
        value = arguments.get(name, [])
        words += value if type(value) is list else [value]
    words += [f"{name}={value}" for name, value in arguments.get("fields", [])]
    for name, value in arguments.items():
        if name in OPERANDS or name == "fields" or value is False:
            continue
        flag = "--" + "".join("-" + letter.lower() if letter.isupper() else letter for letter in name)
        words += [flag] if value is True else [flag, str(value)]
    return words


def free_port():
    """A free port of 127.0.0.1 below the ephemeral range: an ephemeral port could be taken by another process while
    a node is stopped."""
    for _ in range(1000):
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


class Node:
    def __init__(self, stage, name, binary=BINARY):
        self.stage, self.name, self.binary = stage, name, binary
        self.home = stage / name
        self.store = self.home / "store.db"
        self.log = stage / f"{name}.log"
        self.process = self.line = None
        # Seconds by which the clock of its next processes is ahead, if its build lets tests set the clock.
        self.ahead = 0
        # Commands sent and not answered yet: kill_busy sends several at once.
        self.owed = 0
        self.address = f"127.0.0.1:{free_port()}"
        # The newest set of its store that the ledger knows.
        self.last = 0

    # MARK: Commands

    def run(self, *words, input=None, json_wanted=True):
        """Runs the command as a separate process."""
        words = [self.binary, "--home", str(self.home), *words] + (["--json"] if json_wanted else [])
        done = subprocess.run(
            words, input=input, capture_output=True, text=True, timeout=SECONDS, env=self.environment)
        if done.returncode != 0:
            message = done.stderr.strip() or done.stdout.strip()
            raise Refusal({"exit": done.returncode, "code": "exit", "message": message})
        if not json_wanted:
            return done.stdout.strip()
        return json.loads(done.stdout if done.stdout.count("\n{") == 0 else done.stdout.strip().split("\n")[-1])

    @property
    def environment(self):
        sanitizers = {name: os.environ[name] for name in ("ASAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ}
        return sanitizers | {
            "HOME": str(self.stage / "nobody"), "PATH": "/usr/bin:/bin", "TZ": "UTC", "LANG": "C.UTF-8",
            "SWIFT_BACKTRACE": "enable=no", "WAYMARK_LOG": "debug",
            "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")} | (
                {"WAYMARK_CLOCK_AHEAD": str(self.ahead)} if self.ahead else {})

    def ask(self, command, **arguments):
        """The document of a command: through the socket if the node runs, otherwise from a process."""
        if not self.is_running:
            return self.run(*typed(command, arguments))
        self.send(command, arguments)
        return self.answer()

    def send(self, command, arguments):
        try:
            if self.line is not None and self.has_hung_up():
                self.line.close()
                self.line = None
            if self.line is None:
                self.line = socket.socket(socket.AF_UNIX)
                self.line.settimeout(SECONDS)
                self.line.connect(str(self.home / "control.sock"))
                self.input = self.line.makefile("rb")
                self.owed = 0
            request = {"command": command, "arguments": arguments}
            self.line.sendall(json.dumps(request).encode() + b"\n")
            self.owed += 1
        except (BrokenPipeError, ConnectionError):
            raise HungUp(f"{self.name} hung up: {self.last_words()}") from None

    def has_hung_up(self):
        """Whether the node has closed an idle connection: it sends the reason before."""
        return self.owed == 0 and bool(select.select([self.line], [], [], 0)[0])

    def answer(self):
        while True:
            try:
                line = self.input.readline()
            except ConnectionError:
                line = b""
            if not line.endswith(b"\n"):
                raise HungUp(f"{self.name} hung up: {self.last_words()}")
            answer = json.loads(line)
            if answer["type"] in ("result", "error"):
                self.owed -= 1
            if answer["type"] == "result":
                return answer["document"]
            if answer["type"] == "error":
                raise Refusal(answer)

    # MARK: The process

    @property
    def is_running(self):
        return self.process is not None

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [self.binary, "--home", self.home, "run", "--listen", self.address, "--no-discovery"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment)
        assert select.select([self.process.stdout], [], [], SECONDS)[0], f"{self.name} is not ready in time"
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], f"{self.name} said {ready} instead of ready: {self.last_words()}"
        self.address = ready[1]

    def end(self, number=signal.SIGTERM):
        if self.process is None:
            return
        self.process.send_signal(number)
        code = self.process.wait(SECONDS)
        self.process.stdout.close()
        if self.line is not None:
            self.line.close()
        self.process = self.line = None
        assert code in (0, -signal.SIGKILL), f"{self.name} ended with {code}: {self.last_words()}"

    def kill(self):
        self.end(signal.SIGKILL)

    def last_words(self):
        return self.log.read_text()[-1500:] if self.log.exists() else ""
