//! A throw-away PostgreSQL cluster, and pgbouncer in front of it.

mod bouncer;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::guarded::{Guarded, find_program, hand_over, unprivileged};

pub use bouncer::PgBouncer;

/// How long the server may take until it accepts connections.
const START_TIME: Duration = Duration::from_secs(60);

/// Whether the cluster survives the end of the machine, which costs time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsync {
    On,
    Off,
}

/// Where the cluster listens besides its Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    SocketOnly,
    /// On a free port of 127.0.0.1.
    Loopback,
}

/// How the server ends; the names of `pg_ctl -m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    Fast,
    /// Like a crash: the next start recovers.
    Immediate,
}

/// How to set up a cluster.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    pub fsync: Fsync,
    pub listen: Listen,
    /// Further settings of `postgresql.conf`.
    pub settings: Vec<(String, String)>,
    /// `pg_hba.conf`; by default everybody is trusted.
    pub access: Option<String>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            fsync: Fsync::Off,
            listen: Listen::SocketOnly,
            settings: Vec::new(),
            access: None,
        }
    }
}

/// A cluster of its own in a temporary directory. Its server ends, and the directory is removed, when it
/// is dropped, and also when the process is killed.
///
/// Several processes may have one at the same time. The superuser is `postgres`, without a password.
pub struct Postgres {
    server: Option<Guarded>,
    directory: TempDir,
    programs: PathBuf,
    port: u16,
    databases: AtomicUsize,
}

impl Postgres {
    /// Starts a cluster on a Unix socket, without `fsync`.
    pub fn start() -> Self {
        Self::with(&PostgresOptions::default())
    }

    /// Starts a cluster; fails by name if PostgreSQL is not installed.
    pub fn with(options: &PostgresOptions) -> Self {
        let programs = find_program("initdb", "postgresql", &installations());
        let programs = programs.canonicalize().expect("resolve initdb");
        let programs = programs.parent().expect("the programs' directory");
        // A socket's path must be short, and the user postgres must be able to reach it.
        let directory = tempfile::Builder::new()
            .prefix("zot-postgres-")
            .tempdir_in("/tmp")
            .expect("make a temporary directory");
        hand_over(directory.path());
        let mut cluster = Self {
            server: None,
            directory,
            programs: programs.to_owned(),
            port: match options.listen {
                Listen::SocketOnly => 5432,
                Listen::Loopback => free_port(),
            },
            databases: AtomicUsize::new(0),
        };
        cluster.initialise(options);
        cluster.start_again();
        cluster
    }

    fn initialise(&self, options: &PostgresOptions) {
        let mut initdb = unprivileged(&self.programs.join("initdb"));
        initdb
            .args(["--username=postgres", "--auth=trust", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(self.data())
            .current_dir(self.path());
        run(&mut initdb, "");
        let fsync = if options.fsync == Fsync::On {
            "on"
        } else {
            "off"
        };
        let addresses = match options.listen {
            Listen::SocketOnly => "",
            Listen::Loopback => "127.0.0.1",
        };
        let fixed = [
            ("fsync", fsync),
            ("listen_addresses", addresses),
            ("port", &self.port.to_string()),
            ("unix_socket_directories", &self.path().to_string_lossy()),
            ("max_connections", "200"),
        ];
        let given = options.settings.iter();
        let given = given.map(|(name, value)| (name.as_str(), value.as_str()));
        let lines: String = fixed
            .into_iter()
            .chain(given)
            .map(|(name, value)| format!("{name} = '{value}'\n"))
            .collect();
        fs::write(self.data().join("postgresql.auto.conf"), lines).expect("configure PostgreSQL");
        if let Some(access) = &options.access {
            fs::write(self.data().join("pg_hba.conf"), access).expect("configure access");
        }
    }

    /// Starts the server after [`Self::stop`] and waits until it accepts connections.
    pub fn start_again(&mut self) {
        assert!(self.server.is_none(), "the server is running");
        let program = self.programs.join("postgres");
        let data = self.data();
        let arguments = [OsStr::new("-D"), data.as_os_str()];
        let shell = unprivileged(Path::new("sh"));
        let server = Guarded::start(shell, &program, &arguments, self.path(), "QUIT");
        self.server = Some(server);
        let deadline = Instant::now() + START_TIME;
        while !self.is_ready() {
            if Instant::now() > deadline {
                panic!("PostgreSQL does not start: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server and waits for that; the data stay.
    pub fn stop(&mut self, shutdown: Shutdown) {
        if let Some(server) = self.server.take() {
            server.end(match shutdown {
                Shutdown::Fast => "INT",
                Shutdown::Immediate => "QUIT",
            });
        }
    }

    /// Creates an empty database and returns it.
    pub fn database(&self) -> Database {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("zino_{number}");
        self.sql("postgres", &format!("create database {name}"));
        Database {
            url: self.url("postgres", &name),
            name,
        }
    }

    /// Runs statements in a database and returns their rows, columns separated by `|`.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        let programs = std::slice::from_ref(&self.programs);
        let mut psql = Command::new(find_program("psql", "postgresql", programs));
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"])
            .args(["--set=ON_ERROR_STOP=1", "--file=-"])
            .arg(self.url("postgres", database))
            .current_dir("/");
        run(&mut psql, statements)
    }

    /// Returns the URL of a database on the Unix socket.
    pub fn url(&self, user: &str, database: &str) -> String {
        let host = self.path().to_string_lossy().replace('/', "%2F");
        format!("postgres://{user}@{host}:{}/{database}", self.port)
    }

    /// Returns the port of 127.0.0.1, with [`Listen::Loopback`].
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the directory of the socket and the server's log.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns what the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }

    /// Writes a file that only the server's user may read, such as a private key.
    pub fn write_secret(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).expect("write a file of the cluster");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode).expect("protect a file of the cluster");
        hand_over(&path);
        path
    }

    /// Adds settings; [`Self::stop`] and [`Self::start_again`] apply them.
    pub fn configure(&self, settings: &[(&str, &str)]) {
        let lines: String = settings
            .iter()
            .map(|(name, value)| format!("{name} = '{value}'\n"))
            .collect();
        fs::File::options()
            .append(true)
            .open(self.data().join("postgresql.auto.conf"))
            .and_then(|mut file| file.write_all(lines.as_bytes()))
            .expect("configure PostgreSQL");
    }

    fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Reads the state that the server writes into the last line of its file.
    fn is_ready(&self) -> bool {
        fs::read_to_string(self.data().join("postmaster.pid")).is_ok_and(|text| {
            text.lines()
                .nth(7)
                .is_some_and(|state| state.trim() == "ready")
        })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop(Shutdown::Immediate);
    }
}

/// A database of a [`Postgres`].
#[derive(Debug, Clone)]
pub struct Database {
    /// For tokio-postgres, psql and `[store] url`.
    pub url: String,
    pub name: String,
}

/// Runs a program with `input`; returns its output or fails with its errors.
fn run(command: &mut Command, input: &str) -> String {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {name}: {error}"));
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    // A program that ends early closes its input, and says why.
    let writing = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("wait for a program");
    let _ = writing.join();
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// Returns the directories of installed versions, the newest first.
fn installations() -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path).collect()
}

/// Returns statements that lock a table until somebody executes [`RELEASE`], or for a minute.
pub fn lock_until_released(table: &str) -> String {
    format!(
        "begin; lock table {table};
         do $$ begin
             for round in 1..1200 loop
                 exit when exists (select from pg_class where relname = 'released');
                 perform pg_sleep(0.05);
             end loop;
         end $$;
         commit"
    )
}

/// Ends the lock of [`lock_until_released`] in the same database.
pub const RELEASE: &str = "create table released ()";

/// Returns a port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind a loopback port");
    listener.local_addr().expect("the port").port()
}
