# Calls that change the machine. Arguments are such that nothing happens where they are allowed; getting as
# far as the check of the arguments counts.


def load_module():
    return gets_past("init_module", 0, 0, "")


def load_module_from_file():
    return gets_past("finit_module", os.open("/dev/null", os.O_RDONLY), "", 0)


def unload_module():
    return gets_past("delete_module", "zot_no_such_module", os.O_NONBLOCK)


def replace_kernel():
    return gets_past("kexec_load", 0, 0, 0, 0xFF)


def replace_kernel_from_file():
    return gets_past("kexec_file_load", -1, -1, 0, 0, 0xFFFF)


def extended_filter():
    # BPF_MAP_CREATE of an array.
    attributes = ctypes.create_string_buffer(struct.pack("5I", 2, 4, 4, 1, 0) + bytes(100))
    return f"a map: {call('bpf', 0, attributes, 120)}"


def load_extended_filter():
    # BPF_PROG_LOAD of `return 0` for a socket.
    code = ctypes.create_string_buffer(bytes.fromhex("b700000000000000" "9500000000000000"))
    license = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("IIQQIIQII", 1, 2, ctypes.addressof(code), ctypes.addressof(license), 0, 0, 0, 0, 0)
    return f"a program: {call('bpf', 5, ctypes.create_string_buffer(attributes + bytes(80)), 128)}"


def performance_of_the_machine():
    attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0) + bytes(96))
    return f"descriptor {call('perf_event_open', attributes, -1, 0, -1, 0)}"


def performance_of_oneself():
    attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0) + bytes(24) + struct.pack("Q", 1 << 5) + bytes(64))
    return f"descriptor {call('perf_event_open', attributes, 0, -1, -1, 0)}"


def page_faults():
    # Code of the kernel waits for ours.
    return f"descriptor {call('userfaultfd', 0)}"


def page_faults_of_user():
    return f"descriptor {call('userfaultfd', 1)}"


def reboot():
    # With numbers that the kernel refuses after it has checked the rights.
    return gets_past("reboot", 0, 0, 0, 0)


def set_clock():
    # ADJ_SETOFFSET by nothing.
    return f"the clock: {call('adjtimex', ctypes.create_string_buffer(struct.pack('I', 0x100) + bytes(204)))}"


def set_frequency_of_clock():
    # ADJ_STATUS as it is.
    state = ctypes.create_string_buffer(208)
    call("adjtimex", state)
    struct.pack_into("I", state, 0, 0x10)
    return f"the clock: {call('adjtimex', state)}"


def set_host_name():
    name = os.uname().nodename.encode()
    call("sethostname", name, len(name))
    return "the name was set"


def set_domain_name():
    return gets_past("setdomainname", "x", -1)


def swap_on():
    return gets_past("swapon", "/nonexistent/zot", 0)


def swap_off():
    return gets_past("swapoff", "/nonexistent/zot")


def quotas():
    # Q_SYNC of a directory's file system, with a wrong type.
    return gets_past("quotactl_fd", os.open(".", os.O_RDONLY), 0x80000800 - (1 << 32), 0, 0)


def accounting():
    return gets_past("acct", "/nonexistent/zot")


def ports():
    return gets_past("iopl", 3)


def port_range():
    return gets_past("ioperm", 0x80, 1, 1)


def kernel_log():
    buffer = ctypes.create_string_buffer(4096)
    return f"{call('syslog', 3, buffer, 4096)} bytes of the log"


def clear_kernel_log():
    # Its console level as it is: SYSLOG_ACTION_CONSOLE_LEVEL with a wrong one.
    return gets_past("syslog", 8, 0, 99)


def watch_all_files():
    # fanotify with the class that can hold other programs up.
    return f"descriptor {call('fanotify_init', 4, 0)}"


def watch_files_outside():
    # fanotify for everybody, and a mark on what must not be seen.
    descriptor = call("fanotify_init", 0x200, 0)
    os.stat(facts.outside)
    number = (301, 263)[MACHINE]
    call_number(number, descriptor, 1, 2, AT_FDCWD, facts.outside)
    return "watches the directory"


def watch_names_outside():
    # inotify of a directory tells the names of what changes in it.
    descriptor = libc.inotify_init1(os.O_CLOEXEC)
    if libc.inotify_add_watch(descriptor, os.fsencode(facts.outside), 0x100) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return "watches the directory"


def search_key():
    # KEYCTL_SEARCH in the keyring of the user, KEYCTL_READ.
    found = call("keyctl", 10, -4, "user", facts.key_description, 0)
    return key_content(found)


def key_content(key):
    buffer = ctypes.create_string_buffer(256)
    length = call("keyctl", 11, key, buffer, 256)
    return buffer.raw[:length]


def read_key_by_number():
    if facts.key is None:
        raise Held("this kernel has no keys")
    return key_content(facts.key)


def search_key_of_session():
    # KEYCTL_SEARCH in the keyring of the session.
    return each([(ring, lambda ring=ring: key_content(call("keyctl", 10, ring, "user", facts.key_description, 0)))
                 for ring in (-3, -5)])


def request_key():
    return key_content(call("request_key", "user", facts.key_description, 0, 0))


def add_key():
    # A key in the keyring of the user is one for all of the user's processes.
    key = call("add_key", "user", "zot-escapes-planted", b"x", 1, -4)
    quietly(call, "keyctl", 9, key, -4)
    return "a key was added"


def change_key():
    # KEYCTL_DESCRIBE is a question; KEYCTL_SETPERM as it is would be a change.
    buffer = ctypes.create_string_buffer(256)
    if facts.key is None:
        raise Held("this kernel has no keys")
    call("keyctl", 6, facts.key, buffer, 256)
    return "a key outside was described"


def join_session_keyring():
    # KEYCTL_JOIN_SESSION_KEYRING by name: one that another process made.
    return f"keyring {call('keyctl', 1, '_uid.%d' % os.getuid())}"
