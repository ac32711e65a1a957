"""A client that exchanges JSON lines with a process, in any revision, and knows nothing else of the protocol."""

import json
import os
import queue
import subprocess
import threading

LEGACY = ("2024-11-05", "2025-11-25")
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
}


class Ended(Exception):
    """The process has ended, or has not answered in time."""


class Client:
    def __init__(self, command, revision, env=None, cwd=None, log=None, seconds=120):
        self.revision, self.seconds, self.next_id = revision, seconds, 0
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log or subprocess.DEVNULL,
            env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True)
        self.responses = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        if self.revision in LEGACY:
            self.server = self.request("initialize", {
                "protocolVersion": self.revision, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Ended(str(error)) from error

    def _read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue  # Some servers print other text on standard output.
            if "method" not in message:
                self.responses.put(message)
            elif "id" in message:
                answer = {"result": {}} if message["method"] == "ping" else {"error": {"code": -32601, "message": "unknown"}}
                self.send({"jsonrpc": "2.0", "id": message["id"], **answer})
        self.responses.put(None)

    def request(self, method, params=None):
        """Returns the response, with `result` or `error`."""
        self.next_id += 1
        params = dict(params or {})
        if self.revision == MODERN:
            params["_meta"] = META
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        while True:
            try:
                message = self.responses.get(timeout=self.seconds)
            except queue.Empty:
                raise Ended(f"no response to {method} within {self.seconds} s") from None
            if message is None:
                raise Ended("the process has ended")
            if message.get("id") == self.next_id:
                return message

    def tools(self):
        """Returns the names of all tools."""
        names, cursor = [], None
        while True:
            page = self.request("tools/list", {"cursor": cursor} if cursor else {})
            if "error" in page:
                raise Ended(f"tools/list: {page['error']}")
            names += [tool["name"] for tool in page["result"]["tools"]]
            cursor = page["result"].get("nextCursor")
            if not cursor:
                return names

    def call(self, name, arguments):
        """Returns the kind of a tool's response, and the response."""
        response = self.request("tools/call", {"name": name, "arguments": arguments})
        error = response.get("error")
        if error:
            return f"error {error['code']}", response
        return ("tool error" if response["result"].get("isError") else "ok"), response
