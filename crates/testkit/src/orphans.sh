# Fifteen ways of leaving a process behind. MARKER is how long each of them sleeps.
# Programs that are installed in the user's home cannot be used in a jail.
for python in /usr/bin/python3 /usr/local/bin/python3 "$(command -v python3)"; do
    test -x "$python" && break
done
# 1 to 4: in the background, in a session of its own, deaf to hang-ups, with a parent that is gone.
sleep MARKER &
setsid sleep MARKER &
nohup sleep MARKER > /dev/null 2>&1 &
(sleep MARKER &)
# 5, 6: forgotten by its shell, in a group of its own.
bash -c 'sleep MARKER & disown'
bash -c 'set -m; sleep MARKER &'
# 7, 8: a daemon that closed everything, and a session from Python.
"$python" -c 'import os
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
os.closerange(0, 256)
os.execlp("sleep", "sleep", "MARKER")'
"$python" -c 'import subprocess
subprocess.Popen(["sleep", "MARKER"], start_new_session=True)'
# 9, 10: deaf to requests, in the group and out of it.
(trap '' TERM HUP INT QUIT; exec sleep MARKER) &
setsid sh -c 'trap "" TERM HUP INT; exec > /dev/null 2>&1 < /dev/null; exec sleep MARKER' &
# 11, 12: stopped, in the group and out of it.
sleep MARKER & first=$!
setsid sleep MARKER & second=$!
for number in $first $second; do
    until tr '\0' ' ' < /proc/$number/cmdline | grep -q '^sleep'; do sleep 0.05; done
done
kill -STOP $first $second
# 13 to 15: a coprocess, the end of a pipe, a session within a session.
bash -c 'coproc sleep MARKER; disown'
true | setsid sleep MARKER &
setsid sh -c 'setsid sleep MARKER &' &
