"""What a program in the sandbox tries on files and the network outside; prints what it achieved.

Arguments: the project, a directory beside it, zot's own directory, a port on this machine where a server listens.
"""
import os
import socket
import subprocess
import sys
import urllib.request

project, beside, zot_home, port = sys.argv[1:5]


def contains(path, text):
    with open(path) as file:
        return text in file.read()


def linked(name, target):
    path = os.path.join(project, name)
    os.symlink(target, path)
    return path


def connected(address):
    with socket.create_connection(address, 2):
        return True


def fetched(url):
    with urllib.request.urlopen(url, timeout=5) as response:
        return response.status == 200


def shell(line):
    return subprocess.run(["sh", "-c", line], capture_output=True, timeout=20).returncode == 0


secret = os.path.join(beside, "secret")
keys = os.path.join(zot_home, "auth.json")
ATTEMPTS = {
    "read beside": lambda: contains(secret, "canary"),
    "read through a link": lambda: contains(linked("link", secret), "canary"),
    "read through ..": lambda: contains(project + "/../beside/secret", "canary"),
    "read through /proc/self/root": lambda: contains("/proc/self/root" + secret, "canary"),
    "read through /proc/1/root": lambda: contains("/proc/1/root" + secret, "canary"),
    "read through /proc/1/cwd": lambda: contains("/proc/1/cwd/../beside/secret", "canary"),
    "read the keys of zot": lambda: contains(keys, "canary"),
    "hard link": lambda: os.link(secret, project + "/hard") is None,
    "append beside": lambda: shell("echo broken >> %s" % secret),
    "write through a link": lambda: shell("echo broken > %s" % linked("out", secret)),
    "rename beside": lambda: os.rename(secret, project + "/taken") is None,
    "remove beside": lambda: os.remove(secret) is None,
    "change a hook": lambda: shell("echo broken > %s/.git/hooks/pre-commit" % project),
    "move the repository": lambda: os.rename(project + "/.git", project + "/git") is None,
    "mount": lambda: shell("mount -t tmpfs none %s" % project),
    "new namespaces": lambda: shell("unshare -Urm true"),
    "server of this machine": lambda: connected(("127.0.0.1", int(port))),
    "server through the proxy": lambda: fetched("http://127.0.0.1:%s/" % port),
    "server through userinfo": lambda: fetched("http://a@127.0.0.1:%s/" % port),
    "name server": lambda: bool(socket.getaddrinfo("example.com", 80)),
    "address outside": lambda: connected(("1.1.1.1", 443)),
    "key in the environment": lambda: "OPENAI_API_KEY" in os.environ,
}

for name, attempt in ATTEMPTS.items():
    try:
        achieved = attempt()
    except Exception:
        achieved = False
    print("attempt", "achieved" if achieved else "refused", name)
# Created, but nobody may find them afterwards.
for name in (".mcp.json", ".envrc", ".bashrc"):
    try:
        with open(os.path.join(project, name), "w") as file:
            file.write("broken")
    except OSError:
        pass
print("attempts end", flush=True)
