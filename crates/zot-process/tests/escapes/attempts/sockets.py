# Unix sockets: services of the user do on behalf of others what a sandbox refuses.


def stream(address):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.settimeout(3)
        opened.connect(address)
        opened.sendall(b"hello")


def datagram(address, opened=None):
    with opened or socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(3)
        sender.sendto(b"hello", address)


def paths(kind):
    return [os.path.join(place, f"{kind}.socket") for place in (facts.outside, facts.readable, facts.home)]


def stream_by_path():
    for path in paths("stream"):
        quietly(stream, path)


def stream_in_readable_directory():
    stream(os.path.join(facts.readable, "stream.socket"))


def stream_in_workspace():
    # A server that the user runs in the working directory.
    stream("stream.socket")


def datagram_by_path():
    for path in paths("datagram"):
        quietly(datagram, path)


def abstract_stream():
    stream("\0" + facts.abstract)


def abstract_datagram():
    datagram("\0" + facts.abstract + "-datagram")


def sequenced_packets():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as opened:
        opened.connect("\0" + facts.abstract + "-packets")


def pair_to_path():
    # A pair needs no call of `socket`, and each half can send to any address.
    for path in paths("datagram") + ["datagram.socket"]:
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        quietly(datagram, path, one)
        other.close()


def pair_to_abstract():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagram("\0" + facts.abstract + "-datagram", one)


def pair_connected_elsewhere():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for address in paths("datagram") + ["datagram.socket", "\0" + facts.abstract + "-datagram"]:
        with contextlib.suppress(OSError):
            one.connect(address)
            one.send(b"hello")


def raw_pair_to_path():
    # SOCK_RAW means the same as SOCK_DGRAM in this family.
    pair = (ctypes.c_int * 2)()
    call("socketpair", socket.AF_UNIX, socket.SOCK_RAW, 0, pair)
    for path in paths("datagram") + ["datagram.socket"]:
        quietly(datagram, path, socket.socket(fileno=os.dup(pair[0])))


def stream_pair_connected_elsewhere():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    other.close()
    for address in paths("stream") + ["stream.socket"]:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
            one.connect(address)
            one.send(b"hello")


def pair_of_other_family():
    # Families other than Unix that have pairs.
    pair = (ctypes.c_int * 2)()
    for family in (socket.AF_INET, 30, 40):
        with contextlib.suppress(OSError):
            call("socketpair", family, socket.SOCK_STREAM, 0, pair)
            return f"a pair of family {family}"
    raise Held("only Unix sockets have pairs here")


def descriptor_through_pair():
    # Passing descriptors works inside; one of the outside cannot be had this way.
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    secret = os.open(os.path.join(facts.outside, "secret"), os.O_RDONLY)
    socket.send_fds(one, [b"x"], [secret])
    _, received, _, _ = socket.recv_fds(other, 1, 1)
    return os.read(received[0], 4096)


def serve_in_workspace():
    # A socket of ours that a program outside connects to, such as an agent of keys.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.bind("ours.socket")
        opened.listen(1)
        opened.settimeout(2)
        connection, _ = opened.accept()
        if connection.recv(16) == b"from outside":
            return "reached from outside"


def services_of_the_machine():
    addresses = ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
                 "/run/containerd/containerd.sock", "/run/snapd.socket", "/run/nscd/socket", "/run/systemd/notify",
                 f"/run/user/{os.getuid()}/bus", f"/run/user/{os.getuid()}/systemd/private", "/tmp/.X11-unix/X0",
                 "/run/systemd/journal/stdout", "/run/systemd/io.systemd.Manager")

    def attempt(address):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
            opened.connect(address)
    return each([(address, lambda address=address: attempt(address)) for address in addresses])


def agent_of_keys():
    # The socket that SSH_AUTH_SOCK names; the test sets the variable for zot.
    stream(os.environ.get("SSH_AUTH_SOCK") or os.path.join(facts.outside, "stream.socket"))
