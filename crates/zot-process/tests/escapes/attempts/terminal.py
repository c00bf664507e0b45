# The terminal of zot: the test gives zot one, and the command must neither have it nor type into it.

TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCGPTPEER, TIOCSETD, TIOCCONS = 0x5412, 0x541C, 0x540E, 0x5441, 0x5423, 0x541D


def open_controlling_terminal():
    return opens("/dev/tty", os.O_RDWR)


def write_to_controlling_terminal():
    descriptor = os.open("/dev/tty", os.O_WRONLY)
    os.write(descriptor, b"\n")
    return "wrote to the terminal of zot"


def type_into_controlling_terminal():
    descriptor = os.open("/dev/tty", os.O_RDWR)
    fcntl.ioctl(descriptor, TIOCSTI, b" ")
    return "typed into the terminal of zot"


def type_into_standard_input():
    # The test makes a terminal the standard input of this command.
    fcntl.ioctl(0, TIOCSTI, b" ")
    return "typed into the standard input"


def paste_into_standard_input():
    # TIOCL_SETSEL and TIOCL_PASTESEL of a virtual console.
    fcntl.ioctl(0, TIOCLINUX, b"\x02" + bytes(11))
    return "selected text on the console"


def redirect_console():
    if is_off():
        raise Held("not tried without a sandbox: messages of the machine would go elsewhere")
    fcntl.ioctl(0, TIOCCONS)
    return "messages of the kernel go to the standard input"


def take_standard_input_as_terminal():
    # A new session may take a terminal that nobody controls; this one is controlled by zot's session.
    def attempt():
        os.setsid()
        fcntl.ioctl(0, TIOCSCTTY, 0)
        fcntl.ioctl(0, TIOCSTI, b" ")
        return "took the terminal"
    return in_child(attempt)


def steal_standard_input_as_terminal():
    # 1 means by force, which only root may.
    def attempt():
        os.setsid()
        fcntl.ioctl(0, TIOCSCTTY, 1)
        return "stole the terminal"
    if is_off():
        raise Held("not tried without a sandbox: zot would lose its terminal")
    return in_child(attempt)


def type_into_other_terminal():
    descriptor = os.open(facts.terminal, os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(descriptor, TIOCSTI, b" ")


def write_to_other_terminal():
    descriptor = os.open(facts.terminal, os.O_WRONLY | os.O_NOCTTY)
    os.write(descriptor, b"hello")


def reopen_standard_input():
    # The name of the terminal of zot, opened again.
    return each([(path, lambda path=path: opens(path, os.O_RDWR | os.O_NOCTTY)) for path in (
        "/proc/self/fd/0", quietly(os.ttyname, 0) or "/dev/pts/0")])


def become_foreground():
    # With the signal for it ignored, as shells do.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpgrp())
    return "reads what is typed"


def controlling_terminal():
    # The seventh field is the terminal of the session.
    fields = read("/proc/self/stat").rsplit(b")", 1)[1].split()
    if fields[4] == b"0":
        raise Held("there is no terminal")
    return f"has the terminal {int(fields[4]):#x}"
