# Limits of the policy: memory, processes, processor time. They are hard ones. The test sets 300 MiB, 40
# processes and a second.
import resource


def set_limit(limited, values):
    # Python has an error of its own for a hard limit that cannot be raised.
    try:
        resource.setrlimit(limited, values)
    except ValueError as error:
        raise Held(error) from None


def use_memory():
    kept = bytearray(600 << 20)
    for place in range(0, len(kept), 4096):
        kept[place] = 1
    return "used 600 MiB"


def raise_memory_limit():
    set_limit(resource.RLIMIT_DATA, (4 << 30,) * 2)
    return "4 GiB are allowed"


def raise_process_limit():
    set_limit(resource.RLIMIT_NPROC, (1000,) * 2)
    return "1000 processes are allowed"


def raise_processor_limit():
    set_limit(resource.RLIMIT_CPU, (1000,) * 2)
    return "1000 seconds are allowed"


def ignore_processor_limit():
    # The soft limit sends a signal that can be ignored; the hard one kills.
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    began = time.process_time()
    while time.process_time() - began < 4:
        pass
    return "ran for 4 seconds"


def use_processes():
    # Each waits for its standard input, which ends with us.
    reader, writer = os.pipe()
    count = 0
    try:
        for _ in range(120):
            if os.fork() == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            count += 1
    except OSError:
        pass
    if count >= 120:
        return f"{count} processes"
    raise Held(f"{count} processes")


def dump_core():
    # No dump of a confined program, wherever the machine keeps them.
    set_limit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    child = os.fork()
    if child == 0:
        os.abort()
    _, status = os.waitpid(child, 0)
    return "dumped" if os.WCOREDUMP(status) else None
