# Processes that want to live on. Each leaves one that runs under a name with the marker of the test; the
# test looks for it when the run is over.


def stays(prepare=lambda: None):
    """Starts a process that never ends by itself, and waits until it has its name: the test looks only once."""
    started, held = os.pipe()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        prepare()
        for number in range(3):
            os.close(number)
        os.execv("/bin/sleep", ["sleep", facts.survivor])
    os.close(held)
    # Closed by `exec`, or by the end. One that waits before that, such as a reaper, keeps it open.
    select.select([started], [], [], 0.5)
    os.close(started)


def child():
    stays()


def session():
    stays(os.setsid)


def fork_twice():
    def again():
        os.setsid()
        if os.fork():
            os._exit(0)
    stays(again)


def fork_many_times():
    def again():
        for _ in range(20):
            os.setsid() if os.getpid() != os.getsid(0) else None
            if os.fork():
                os._exit(0)
    stays(again)


def without_death_signal():
    # PR_SET_PDEATHSIG to none.
    stays(lambda: libc.prctl(1, 0, 0, 0, 0))


def subreaper():
    # A process of our own that adopts orphans in place of the supervisor.
    def adopt():
        os.setsid()
        libc.prctl(36, 1, 0, 0, 0)
        if os.fork():
            signal.pause()
    stays(adopt)


def other_group():
    stays(lambda: os.setpgid(0, 0))


def while_output_is_open():
    # The output stays open, so that its reader waits.
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.execv("/bin/sleep", ["sleep", facts.survivor])


def stop_supervisor():
    # A supervisor that is stopped ends nothing.
    stays(os.setsid)
    for pid in supervisors():
        quietly(os.kill, pid, signal.SIGSTOP)


def kill_supervisor():
    stays(os.setsid)
    for pid in supervisors():
        quietly(os.kill, pid, signal.SIGKILL)


def supervisors():
    """Our ancestors up to zot, which is not one of them."""
    found = []
    pid = os.getppid()
    while pid > 1 and pid != facts.zot and len(found) < 8:
        found.append(pid)
        fields = quietly(read, f"/proc/{pid}/stat")
        if not fields:
            break
        pid = int(fields.rsplit(b")", 1)[1].split()[1])
    # The first process of our own PID namespace; never that of the machine.
    is_ours = quietly(read, "/proc/1/comm") == b"zot-supervisor\n"
    return found + ([1] if is_ours else [])


def trace_supervisor():
    stays(os.setsid)
    return each([(pid, lambda pid=pid: call("ptrace", 0x4206, pid, 0, 0) and None) for pid in supervisors()])


def close_pipes_of_supervisor():
    # Its descriptors, taken by number.
    stays(os.setsid)

    def attempt(pid, number):
        process = call("pidfd_open", pid, 0)
        return f"descriptor {call('pidfd_getfd', process, number, 0)}"
    return each([((pid, number), lambda pid=pid, number=number: attempt(pid, number))
                 for pid in supervisors() for number in range(3)])


def exhaust_supervisor():
    # As many processes as it may list at a time, all of them orphans.
    for _ in range(60):
        stays(os.setsid)


def fork_while_being_killed():
    # Each killed process has a successor already. In the end one stays, so that the test finds it.
    def again():
        while time.monotonic() < end:
            if os.fork():
                time.sleep(0.001)
                os._exit(0)
    end = time.monotonic() + 3
    stays(again)


def fork_in_pairs_while_being_killed():
    # Two chains that outlive each other's members.
    def again():
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
    end = time.monotonic() + 3
    stays(again)
    stays(again)


def daemon_by_program():
    for command in (["setsid", "-f"], ["nohup"]):
        quietly(subprocess.Popen, [*command, "sleep", facts.survivor], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def in_new_namespace():
    stays(lambda: quietly(call, "unshare", NAMESPACES["user"] | NAMESPACES["pid"]))


def freeze_in_control_group():
    # A frozen process cannot be killed in old control groups.
    if is_off():
        raise Held("not tried without a sandbox: it would leave control groups behind")

    def freeze():
        for name in ("freezer", ""):
            path = f"/sys/fs/cgroup/{name}/zot-escapes-{os.getpid()}"
            quietly(os.mkdir, path)
            quietly(write, path + "/cgroup.procs", b"0")
    stays(freeze)


def on_time_out():
    # Never ends by itself; the time limit of the test is short.
    stays(os.setsid)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)
