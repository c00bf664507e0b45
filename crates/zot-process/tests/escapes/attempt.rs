//! What is known about an attempt before it runs.

/// Attempts of one kind.
pub(crate) struct Category {
    pub(crate) name: &'static str,
    /// The Python functions.
    pub(crate) source: &'static str,
    pub(crate) attempts: &'static [Attempt],
}

/// One way to get out.
#[derive(Clone, Copy)]
pub(crate) struct Attempt {
    /// The name of the function.
    pub(crate) name: &'static str,
    /// What is expected with namespaces.
    pub(crate) with_namespaces: Expected,
    /// What is expected of Landlock and seccomp alone.
    pub(crate) alone: Expected,
    pub(crate) control: Control,
    pub(crate) who: Who,
    pub(crate) workspace: Workspace,
    pub(crate) rights: Rights,
    pub(crate) after: After,
    /// Whether the sandbox may kill the process that tries it.
    pub(crate) may_die: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Held,
    /// Protected files can be changed, and the sandbox reports those that were.
    Reported,
    /// It gets out, as docs/sandbox.md says in these words.
    Weaker(&'static str),
}

/// How it is proved that the attempt would succeed without a sandbox.
#[derive(Clone, Copy)]
pub(crate) enum Control {
    /// At the level `off`.
    Works,
    /// At the level `off`, as root only.
    AsRoot,
    /// As a plain child, because `off` holds it as well.
    Plain,
    /// As a plain child, as root only.
    PlainAsRoot,
    /// At the level `off`, if the machine has what it takes.
    If(fn() -> bool),
    /// At the level `off`, as root only. It may fail where the kernel says that it has no such thing.
    IfKernelHasIt,
    /// Not at all, for this reason.
    Unproved(&'static str),
}

/// For whom the attempt makes sense.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Anybody,
    Root,
    User,
}

/// What is in the working directory beside a few files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workspace {
    /// A repository of git.
    Repository,
    /// A repository whose hooks are not there.
    RepositoryWithoutHooks,
    /// A work tree of a repository elsewhere.
    Worktree,
    /// Every protected file.
    EverythingProtected,
    /// No protected file, not even a repository.
    NothingProtected,
}

/// The policy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    Workspace,
    ReadOnly,
    /// Only the interpreter may be started.
    OneProgram,
    /// With limits.
    Limited,
    /// Some hosts may be connected to.
    Hosts,
}

/// What the user does outside afterwards, or meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    /// Calls git in the working directory.
    Git,
    /// Starts shells, and programs of the home directory.
    Shell,
    /// Connects to what the attempt listens on, while it runs.
    Connects,
    /// Lets another command start in the same sandbox.
    AnotherCommand,
    /// Is impatient: the time limit is half a second.
    TimesOut,
    /// Waits a while before he looks for processes.
    Waits,
}

/// An attempt without peculiarities.
pub(crate) const fn attempt(name: &'static str) -> Attempt {
    Attempt {
        name,
        with_namespaces: Expected::Held,
        alone: Expected::Held,
        control: Control::Works,
        who: Who::Anybody,
        workspace: Workspace::Repository,
        rights: Rights::Workspace,
        after: After::Nothing,
        may_die: false,
    }
}

impl Attempt {
    pub(crate) const fn weaker_alone(self, reason: &'static str) -> Self {
        Self {
            alone: Expected::Weaker(reason),
            ..self
        }
    }

    /// No sandbox of ours holds it, as docs/sandbox.md says in these words.
    pub(crate) const fn not_held(self, reason: &'static str) -> Self {
        Self {
            with_namespaces: Expected::Weaker(reason),
            alone: Expected::Weaker(reason),
            ..self
        }
    }

    pub(crate) const fn reported_alone(self) -> Self {
        Self {
            alone: Expected::Reported,
            ..self
        }
    }

    pub(crate) const fn root_only(self) -> Self {
        Self {
            who: Who::Root,
            ..self
        }
    }

    pub(crate) const fn user_only(self) -> Self {
        Self {
            who: Who::User,
            ..self
        }
    }

    /// Without a sandbox, only root can do it.
    pub(crate) const fn works_for_root(self) -> Self {
        Self {
            control: Control::AsRoot,
            ..self
        }
    }

    pub(crate) const fn works_for_plain_child(self) -> Self {
        Self {
            control: Control::Plain,
            ..self
        }
    }

    pub(crate) const fn works_for_plain_child_of_root(self) -> Self {
        Self {
            control: Control::PlainAsRoot,
            ..self
        }
    }

    pub(crate) const fn works_if(self, condition: fn() -> bool) -> Self {
        Self {
            control: Control::If(condition),
            ..self
        }
    }

    /// Without a sandbox, root can do it if the kernel is made with it.
    pub(crate) const fn works_if_kernel_has_it(self) -> Self {
        Self {
            control: Control::IfKernelHasIt,
            ..self
        }
    }

    pub(crate) const fn unproved(self, reason: &'static str) -> Self {
        Self {
            control: Control::Unproved(reason),
            ..self
        }
    }

    pub(crate) const fn with(self, workspace: Workspace) -> Self {
        Self { workspace, ..self }
    }

    pub(crate) const fn rights(self, rights: Rights) -> Self {
        Self { rights, ..self }
    }

    pub(crate) const fn then(self, after: After) -> Self {
        Self { after, ..self }
    }

    pub(crate) const fn may_die(self) -> Self {
        Self {
            may_die: true,
            ..self
        }
    }
}

/// Conditions under which an attempt succeeds without a sandbox.
pub(crate) mod machine {
    use std::path::Path;

    fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    fn has_entries(path: &str) -> bool {
        std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
    }

    pub(crate) fn has_page_monitor() -> bool {
        is_root() && Path::new("/proc/kpagecount").exists()
    }

    pub(crate) fn has_system_requests() -> bool {
        is_root() && Path::new("/proc/sysrq-trigger").exists()
    }

    /// Whether the kernel still lets programs type into their terminal.
    pub(crate) fn can_type() -> bool {
        let setting = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
        setting.map_or(true, |setting| setting.trim() != "0")
    }

    pub(crate) fn can_type_as_root() -> bool {
        is_root() && can_type()
    }

    pub(crate) fn has_tracing() -> bool {
        is_root() && (has_entries("/sys/kernel/tracing") || has_entries("/sys/kernel/debug"))
    }
}
