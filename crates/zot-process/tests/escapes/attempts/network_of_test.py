# Runs a program in a network of its own, which has the addresses of a small internet on its loopback, and
# where names are asked for at 127.0.0.53. Arguments: a directory for files, the program, its arguments.
import ctypes
import fcntl
import os
import socket
import struct
import sys

ADDRESSES = ("93.184.215.14", "93.184.215.15", "10.1.2.3", "169.254.169.254", "2606:2800:21f::15", "fd00::1")
FILES = {
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "resolv.conf": "nameserver 127.0.0.53\noptions timeout:2 attempts:1\n",
    "nsswitch.conf": "hosts: files dns\n",
}
NEW_MOUNTS, NEW_USER, NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
user, group = os.getuid(), os.getgid()


def check(result, what):
    if result:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")


if user != 0 or libc.unshare(NEW_MOUNTS | NEW_NETWORK):
    check(libc.unshare(NEW_USER | NEW_MOUNTS | NEW_NETWORK), "cannot make namespaces")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)
check(libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None), "cannot make mounts private")
for name, text in FILES.items():
    path = f"{sys.argv[1]}/home-of-user/{name}-{user}"
    with open(path, "w") as file:
        file.write(text)
    if os.path.exists("/etc/" + name):
        check(libc.mount(path.encode(), os.path.realpath("/etc/" + name).encode(), None, 0x1000, None), name)
with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as file:
    file.write("0")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
    fcntl.ioctl(opened, 0x8914, struct.pack("16sh22s", b"lo", 1, b""))
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as opened:
    for address in ADDRESSES:
        family, length = (socket.AF_INET6, 16) if ":" in address else (socket.AF_INET, 4)
        packed = socket.inet_pton(family, address)
        body = struct.pack("BBBBI", family, length * 8, 2, 0, 1)
        body += b"".join(struct.pack("HH", 4 + length, kind) + packed for kind in (1, 2))
        opened.send(struct.pack("IHHII", 16 + len(body), 20, 0x405, 1, 0) + body)
        error = struct.unpack_from("i", opened.recv(4096), 16)[0]
        if error:
            sys.exit(f"cannot add {address}: {os.strerror(-error)}")
os.execv(sys.argv[2], sys.argv[2:])
