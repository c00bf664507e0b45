# Every kind of connection to the outside. The bystander listens on the loopback of the machine; it reports
# what arrived.


def need(port):
    if port is None:
        raise Held("the machine has no such address")
    return port


def connect(family, address, kind=socket.SOCK_STREAM, protocol=0):
    with socket.socket(family, kind, protocol) as opened:
        opened.settimeout(3)
        opened.connect(address)
        opened.sendall(b"hello")


def tcp():
    connect(socket.AF_INET, ("127.0.0.1", need(facts.tcp4)))


def tcp_over_ipv6():
    connect(socket.AF_INET6, ("::1", need(facts.tcp6)))


def tcp_to_mapped_address():
    connect(socket.AF_INET6, ("::ffff:127.0.0.1", need(facts.tcp4)))


def tcp_to_any_address():
    # 0.0.0.0 means this machine.
    connect(socket.AF_INET, ("0.0.0.0", need(facts.tcp4)))


def tcp_to_other_loopback():
    for last in (1, 2, 53, 254):
        quietly(connect, socket.AF_INET, (f"127.0.0.{last}", need(facts.tcp4)))


def tcp_to_own_address():
    if not facts.host:
        raise Held("the machine has no address")
    connect(socket.AF_INET, (facts.host, facts.tcp_host))


def tcp_by_first_data():
    # MSG_FASTOPEN: no call of connect.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as opened:
        opened.settimeout(3)
        opened.sendto(b"hello", 0x20000000, ("127.0.0.1", need(facts.tcp4)))


def tcp_by_other_family():
    # A socket for IPv6 that becomes one for IPv4.
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as opened:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        opened.settimeout(3)
        opened.connect(("::ffff:127.0.0.1", need(facts.tcp4)))


def tcp_over_many_paths():
    connect(socket.AF_INET, ("127.0.0.1", need(facts.tcp4)), socket.SOCK_STREAM, 262)


def tcp_without_blocking():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as opened:
        with contextlib.suppress(BlockingIOError):
            opened.connect(("127.0.0.1", need(facts.tcp4)))
        time.sleep(0.1)


def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.sendto(b"hello", ("127.0.0.1", need(facts.udp4)))


def udp_over_ipv6():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as opened:
        opened.sendto(b"hello", ("::1", need(facts.udp6)))


def udp_lite():
    # Its own protocol; nobody listens, so a socket is enough.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136) as opened:
        opened.connect(("127.0.0.1", facts.udp4))
    return reaches_machine()


def name_lookup():
    # A question to a name server, as programs ask it.
    question = struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\6secret\7invalid\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.connect(("127.0.0.1", need(facts.udp4)))
        opened.send(question)


def name_lookup_by_system():
    # The name server of the machine would pass the secret on.
    if is_off():
        raise Held("not tried without a sandbox: it would ask a real server")
    socket.getaddrinfo("secret.invalid", 80)
    return "a name was found"


def reaches_machine():
    """Whether the interfaces here are those of the machine."""
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not names:
        raise Held("there is only a loopback")
    return f"sees {names}"


def interfaces():
    return reaches_machine()


def interfaces_by_netlink():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as opened:
        opened.settimeout(3)
        opened.send(struct.pack("IHHIIBBHiII", 32, 18, 0x301, 1, 0, 0, 0, 0, 0, 0, 0))
        names = []
        while True:
            text = opened.recv(1 << 16)
            while len(text) >= 16:
                length, kind = struct.unpack_from("IH", text)
                if kind in (2, 3):
                    return f"sees {names}" if set(names) - {b"lo"} else None
                # The name of the interface is its first attribute.
                size, attribute = struct.unpack_from("HH", text, 32)
                if attribute == 3:
                    names.append(text[36:32 + size].rstrip(b"\0"))
                text = text[(length + 3) & ~3:]


def change_interface():
    # RTM_NEWADDR: another address for the loopback, taken away again.
    body = struct.pack("BBBBI", socket.AF_INET, 32, 0, 0, 1) + struct.pack("HH4s", 8, 2, socket.inet_aton("127.9.9.9"))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as opened:
        opened.settimeout(3)
        opened.send(struct.pack("IHHII", 16 + len(body), 20, 0x405, 1, 0) + body)
        error = struct.unpack_from("i", opened.recv(4096), 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))
        opened.send(struct.pack("IHHII", 16 + len(body), 21, 5, 1, 0) + body)
    return "an address was added"


def socket_diagnosis():
    # NETLINK_SOCK_DIAG lists the sockets of the machine.
    request = struct.pack("BBBBI", socket.AF_INET, 6, 0, 0, 1 << 10) + bytes(48)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as opened:
        opened.settimeout(3)
        opened.send(struct.pack("IHHII", 16 + len(request), 20, 0x301, 1, 0) + request)
        text = opened.recv(1 << 16)
    return "the listener of the bystander is listed" if struct.pack(">H", facts.tcp4) in text else None


def kernel_events():
    # NETLINK_KOBJECT_UEVENT: devices of the machine come and go.
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15) as opened:
        opened.bind((0, 1))
    return reaches_machine()


def audit():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9) as opened:
        opened.settimeout(1)
        opened.send(struct.pack("IHHII", 16, 1000, 5, 1, 0))
        reply = opened.recv(4096)
        if struct.unpack_from("H", reply, 4)[0] == 2:
            error = struct.unpack_from("i", reply, 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))
    return "asked the audit system"


def packet_filter():
    # NETLINK_NETFILTER: the rules of the firewall.
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as opened:
        opened.settimeout(1)
        opened.send(struct.pack("IHHIIBBH", 20, 0x0A01, 0x305, 1, 0, 0, 0, 0))
        reply = opened.recv(4096)
        if struct.unpack_from("H", reply, 4)[0] == 2:
            error = struct.unpack_from("i", reply, 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))
    return reaches_machine()


def creates(family, kind, protocol=0):
    with socket.socket(family, kind, protocol):
        return f"a socket of family {family}"


def raw_ip():
    return creates(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


def raw_icmp():
    return creates(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


def raw_icmp_over_ipv6():
    return creates(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)


def ping():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as opened:
        opened.sendto(b"\x08" + bytes(7), ("127.0.0.1", 0))
    return reaches_machine()


def packets():
    return creates(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)


def packets_without_headers():
    return creates(socket.AF_PACKET, socket.SOCK_DGRAM, 0)


def virtual_machine():
    # AF_VSOCK leads to the host of a virtual machine, past every network namespace. A socket is enough:
    # nobody there is called.
    return creates(40, socket.SOCK_STREAM)


def virtual_machine_datagram():
    return creates(40, socket.SOCK_DGRAM)


def kernel_cryptography():
    return creates(38, socket.SOCK_SEQPACKET)


def rare_families():
    # Code of the kernel that programs do not need: X.25, RDS, CAN, TIPC, Bluetooth, RxRPC, IEEE 802.15.4,
    # CAIF, NFC, KCM, Qualcomm, SMC, XDP, MCTP.
    numbers = (9, 21, 29, 30, 31, 33, 36, 37, 39, 41, 42, 43, 44, 45)
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_RDM)
    return each([(number, lambda number=number, kind=kind: creates(number, kind)) for number in numbers for kind in kinds])


def smc_to_loopback():
    # Python does not know its addresses, which are those of IPv4.
    with socket.socket(43, socket.SOCK_STREAM) as opened:
        address = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", need(facts.tcp4), bytes((127, 0, 0, 1)))
        if libc.connect(opened.fileno(), address, len(address)):
            raise OSError(ctypes.get_errno(), "connect")


def sctp():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132):
        return reaches_machine()


def tunnel():
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, 0x400454CA, struct.pack("16sH22s", b"zotescape%d", 0x1001, b""))
    return "a network device was made"


def listen_for_the_outside():
    # The test connects to this port from outside.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.listen(1)
        write("port", str(opened.getsockname()[1]).encode())
        opened.settimeout(2)
        connection, _ = opened.accept()
        if connection.recv(16) == b"from outside":
            return "reached from outside"


def through_service():
    # Programs that connect on behalf of others.
    command = "curl -sm 2 http://127.0.0.1:%d; wget -qt 1 -T 2 -O- http://127.0.0.1:%d; bash -c 'echo x > /dev/tcp/127.0.0.1/%d'"
    subprocess.run(["/bin/sh", "-c", command % ((need(facts.tcp4),) * 3)], capture_output=True)


def by_other_architecture():
    # The call `socket` of 32-bit programs has another number: a filter that looks at one table misses it.
    if MACHINE != 0:
        raise Held("this machine has one table of calls")
    code = bytes.fromhex("53" "b867010000" "bb02000000" "b901000000" "31d2" "cd80" "5b" "c3")
    memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    descriptor = function()
    if descriptor < 0:
        raise OSError(-descriptor, os.strerror(-descriptor))
    with socket.socket(fileno=descriptor) as opened:
        opened.connect(("127.0.0.1", need(facts.tcp4)))


def by_long_numbers():
    # The x32 table of x86_64.
    if MACHINE != 0:
        raise Held("this machine has one table of calls")
    descriptor = call_number(41 | 0x40000000, socket.AF_INET, socket.SOCK_STREAM, 0)
    with socket.socket(fileno=descriptor) as opened:
        opened.connect(("127.0.0.1", need(facts.tcp4)))


def by_upper_half_of_argument():
    # The kernel looks at 32 bits of the family; a filter may compare 64.
    descriptor = call("socket", socket.AF_INET | 1 << 32, socket.SOCK_STREAM, 0)
    with socket.socket(fileno=descriptor) as opened:
        opened.connect(("127.0.0.1", need(facts.tcp4)))
