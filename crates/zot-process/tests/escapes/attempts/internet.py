# A small internet for the attempts against the proxy, in a network namespace of the test: a name server, a
# host that is allowed, others that are not, and a proxy that reads everything as leniently as it can and
# refuses nothing. Without a sandbox, attempts use that one: it proves that their bytes lead somewhere.
import re
import threading
import time
import urllib.parse

ALLOWED, EVIL, EVIL6 = "93.184.215.14", "93.184.215.15", "2606:2800:21f::15"
ALLOWED_NAMES = re.compile(r"(allowed\.test|.+\.below\.test)\.?")
busy = [0]


class Internet:
    def __init__(self, contacts):
        self.contacts = contacts
        self.questions = {}

    def serve(self, address, port, handle):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address, port))
        opened.listen(64)

        def handle_one(connection):
            busy[0] += 1
            try:
                with connection:
                    connection.settimeout(2)
                    handle(connection)
            except OSError:
                pass
            finally:
                busy[0] -= 1

        def accept():
            while True:
                connection, _ = opened.accept()
                threading.Thread(target=handle_one, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return opened.getsockname()[1]

    def note(self, what):
        if what not in self.contacts:
            self.contacts.append(what)

    # The name server.

    def addresses(self, name):
        """The name says its addresses: to-10-1-2-3, first-A-then-B, both-A-and-B."""
        label = name.split(".")[0]
        if not ALLOWED_NAMES.fullmatch(name):
            self.note("a question about " + name)
            return [EVIL]
        if found := re.fullmatch(r"first-(.*)-then-(.*)", label):
            self.questions[name] = self.questions.get(name, 0) + 1
            return [found[min(self.questions[name], 2)].replace("-", ".")]
        if found := re.fullmatch(r"both-(.*)-and-(.*)", label):
            return [found[1].replace("-", "."), found[2].replace("-", ".")]
        if found := re.fullmatch(r"to6-(.*)", label):
            return [found[1].replace("-", ":").replace("_", ".")]
        if found := re.fullmatch(r"to-(.*)", label):
            return [found[1].replace("-", ".")]
        return [ALLOWED]

    def answer_questions(self):
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        opened.bind(("127.0.0.53", 53))
        while True:
            question, sender = opened.recvfrom(4096)
            labels, position = [], 12
            while question[position]:
                labels.append(question[position + 1:position + 1 + question[position]].decode("latin-1"))
                position += 1 + question[position]
            name, kind = ".".join(labels).lower(), question[position + 1:position + 3]
            family, width = {b"\0\1": (socket.AF_INET, 4), b"\0\x1c": (socket.AF_INET6, 16)}.get(kind, (None, 0))
            found = [address for address in self.addresses(name) if (":" in address) == (width == 16) and width] \
                if width == 4 or "to6-" in name else []
            head = question[:2] + b"\x85\x80\0\1" + struct.pack(">HHH", len(found), 0, 0)
            records = b"".join(
                b"\xc0\x0c" + kind + b"\0\1\0\0\0\0" + struct.pack(">H", width) + socket.inet_pton(family, address)
                for address in found)
            opened.sendto(head + question[12:position + 5] + records, sender)

    # The host that is allowed.

    def allowed(self, connection):
        received, is_answered = b"", False
        while data := connection.recv(1 << 16):
            received += data
            for prefers in ("length", "last length", "coding"):
                for problem in problems(received, prefers):
                    self.note("the allowed host got " + problem)
            head = re.search(rb"\r?\n\r?\n", received)
            length = re.search(rb"Content-Length: (\d+)", received)
            if not is_answered and head and len(received) >= head.end() + int(length[1] if length else 0):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nallowed")
                connection.shutdown(socket.SHUT_WR)
                is_answered = True

    def anything(self, connection):
        connection.sendall(b"allowed")
        while connection.recv(1 << 16):
            pass

    # The proxy that refuses nothing.

    def lenient(self, client):
        data = client.recv(1 << 16)
        if data[:1] == b"\4":
            port, address = struct.unpack(">H4s", data[2:8])
            self.relay(client, socket.create_connection((socket.inet_ntoa(address), port), 2), b"")
            return
        first = re.split(rb"\r?\n", data)[0].decode("utf-8", "replace")
        method, target = (first.split(" ") + ["", ""])[:2]
        path = target
        if "://" in target:
            target = target.split("://", 1)[1]
            path = "/" + target.partition("/")[2]
        elif method.upper() != "CONNECT":
            target = re.search(rb"(?i)\nHost:\s*([^\r\n]*)", data)[1].decode()
        server = socket.create_connection(lenient_address(target), 2)
        if method.upper() == "CONNECT":
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            rest = re.split(rb"\r?\n\r?\n", data, maxsplit=1)[1]
        else:
            rest = data.replace(first.split(" ")[1].encode(), path.encode(), 1)
        self.relay(client, server, rest)

    def relay(self, client, server, data):
        with server:
            server.settimeout(2)
            if data:
                server.sendall(data)
            ends = {client: server, server: client}
            while True:
                ready, _, _ = select.select(list(ends), [], [], 0.1)
                if not ready:
                    return
                for end in ready:
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    if end is client and data.startswith(b"CONNECT "):
                        socket.create_connection(lenient_address(data.split(b" ")[1].decode()), 2).close()
                    ends[end].sendall(data)


def lenient_address(text):
    text = re.split(r"[/\\#?]", urllib.parse.unquote(text).split("\0")[0])[0].rpartition("@")[2]
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host.partition("%")[0], int(port[1:] or 80)
    host, _, port = text.partition(":")
    return host.strip().encode("idna").decode(), int(port or 80)


def problems(data, prefers):
    """What a server that reads in this way finds beside one request to the host that is allowed."""
    count = 0
    while data := data.lstrip(b"\r\n"):
        end = re.search(rb"\r?\n\r?\n", data)
        if not end:
            return
        head, data = re.sub(rb"\r?\n[ \t]+", b" ", data[:end.start()]), data[end.end():]
        lines = re.split(rb"\r?\n|\r", head)
        count += 1
        if count > 1:
            yield f"a second request ({prefers}): {lines[0][:40]}"
            return
        fields = [line.partition(b":")[::2] for line in lines[1:]]
        fields = [(name.strip().lower().replace(b"_", b"-"), value.strip(b" \t\v\f").lower()) for name, value in fields]

        def values(wanted):
            return [value for name, value in fields if name == wanted]

        if any(not value.startswith(b"allowed.test") for value in values(b"host")):
            yield f"another host: {values(b'host')}"
        if values(b"upgrade"):
            yield f"an upgrade to {values(b'upgrade')}"
        lengths = [int(value) for value in values(b"content-length") if value.isdigit()]
        if prefers == "coding" and any(b"chunked" in value for value in values(b"transfer-encoding")):
            while found := re.match(rb"\s*([0-9a-fA-F]+)[^\n]*\n", data):
                size = int(found[1], 16)
                data = data[found.end() + size:]
                if size == 0:
                    break
        elif lengths:
            data = data[lengths[-1 if prefers == "last length" else 0]:]


def start_internet(contacts):
    internet = Internet(contacts)
    threading.Thread(target=internet.answer_questions, daemon=True).start()
    internet.serve(ALLOWED, 80, internet.allowed)
    internet.serve(ALLOWED, 443, internet.anything)
    return internet.serve("127.0.0.1", 0, internet.lenient)


def wait_for_internet():
    """Until every connection has been dealt with."""
    time.sleep(0.01)
    deadline = time.monotonic() + 3
    while busy[0] and time.monotonic() < deadline:
        time.sleep(0.005)
