//! A terminal with a program in it: a pseudo-terminal that is written to and read from.

use std::fs;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use testkit::{Workdir, process};

use super::super::peer::cpu_at_rest;
use super::super::programs::clean_command;

const SIZE: Winsize = Winsize {
    ws_row: 40,
    ws_col: 120,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// The screen is still when nothing was written for this long: animations draw every 120 ms.
const STILL_TIME: Duration = Duration::from_millis(300);

const PATIENCE: Duration = Duration::from_secs(60);

/// The start of the input line.
const PROMPT: &str = "❯";

/// The end of every synchronised update.
const END_OF_DRAWING: &str = "\x1b[?2026l";

/// The program is killed when this is dropped.
pub(super) struct Screen {
    child: Child,
    terminal: OwnedFd,
    buffer: Vec<u8>,
}

impl Screen {
    /// Starts `program` in a new terminal. `setsid -c` makes it the controlling terminal, for which the
    /// process must lead a new session.
    pub(super) fn open(
        program: &Path,
        arguments: &[&str],
        workdir: &Workdir,
    ) -> anyhow::Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        fcntl_setfd(&terminal, FdFlags::CLOEXEC)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        tcsetwinsize(&terminal, SIZE)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let program_end = open(ptsname(&terminal, Vec::new())?, flags, Mode::empty())?;
        let child = clean_command("setsid")
            .arg("-c")
            .arg(program)
            .args(arguments)
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .env("HOME", workdir.home())
            .env("ZOT_HOME", workdir.zot_home())
            .current_dir(workdir.path())
            .stdin(Stdio::from(program_end.try_clone()?))
            .stdout(Stdio::from(program_end.try_clone()?))
            .stderr(Stdio::from(program_end))
            .spawn()
            .context("cannot start setsid")?;
        Ok(Self {
            child,
            terminal,
            buffer: vec![0; 1 << 16],
        })
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> anyhow::Result<()> {
        while !bytes.is_empty() {
            let count = rustix::io::write(&self.terminal, bytes)?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Reads until the prompt is shown.
    pub(super) fn wait_for_prompt(&mut self) -> anyhow::Result<()> {
        self.wait_for(PROMPT)
    }

    /// Reads until `text` is written.
    pub(super) fn wait_for(&mut self, text: &str) -> anyhow::Result<()> {
        let mut seen = Vec::new();
        let text = text.as_bytes();
        while !seen.windows(text.len()).any(|window| window == text) {
            let count = self.read(PATIENCE)?;
            let count = count
                .filter(|count| *count > 0)
                .with_context(|| format!("{:?} did not come", String::from_utf8_lossy(text)))?;
            seen.extend_from_slice(&self.buffer[..count]);
        }
        Ok(())
    }

    /// Reads until the screen is still.
    pub(super) fn settle(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.read(STILL_TIME)?.is_some() {
            ensure!(Instant::now() < deadline, "the screen did not come to rest");
        }
        Ok(())
    }

    /// Returns how long the screen takes to change after a key press.
    pub(super) fn time_of_key(&mut self, key: &[u8]) -> anyhow::Result<Duration> {
        self.cpu()?;
        while self.read(Duration::ZERO)?.is_some() {}
        let started = Instant::now();
        self.write(key)?;
        self.wait_for(END_OF_DRAWING)?;
        Ok(started.elapsed())
    }

    pub(super) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_at_rest(self.child.id())
    }

    pub(super) fn resident_bytes(&self) -> anyhow::Result<u64> {
        process::resident_bytes(self.child.id()).context("the program has ended")
    }

    /// Returns the resident memory that no file backs, which excludes code.
    pub(super) fn own_bytes(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |line: &str| Some(line.strip_prefix("RssAnon:")?.to_owned());
        let value = status.lines().find_map(field).context("no RssAnon")?;
        let kilobytes: u64 = value.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024)
    }

    /// Returns how many times its threads went to sleep, which is how many times they were woken.
    pub(super) fn wake_ups(&self) -> anyhow::Result<u64> {
        let mut count = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let status = fs::read_to_string(thread?.path().join("status"))?;
            let field =
                |line: &str| Some(line.strip_prefix("voluntary_ctxt_switches:")?.to_owned());
            let value = status.lines().find_map(field).context("no switches")?;
            count += value.trim().parse::<u64>()?;
        }
        Ok(count)
    }

    /// Leaves the chat as a user does, and waits for the exit.
    pub(super) fn leave(mut self) -> anyhow::Result<()> {
        self.write(b"\x04")?;
        while self.read(PATIENCE)?.is_some_and(|count| count > 0) {}
        self.child.wait()?;
        Ok(())
    }

    /// Reads what is available or arrives in time; nothing at all means that the program has exited.
    fn read(&mut self, patience: Duration) -> anyhow::Result<Option<usize>> {
        let mut waiting = [PollFd::new(&self.terminal, PollFlags::IN)];
        let limit = Timespec::try_from(patience)?;
        if poll(&mut waiting, Some(&limit))? == 0 {
            return Ok(None);
        }
        match rustix::io::read(&self.terminal, &mut self.buffer) {
            Ok(count) => Ok(Some(count)),
            // Linux reports this when nobody has the other end open.
            Err(error) if error == rustix::io::Errno::IO => Ok(Some(0)),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Some(0)),
            Err(error) => bail!(error),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
