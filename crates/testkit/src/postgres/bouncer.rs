//! pgbouncer in transaction mode.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Postgres, START_TIME};
use crate::guarded::{Guarded, find_program, hand_over, unprivileged};

const PORT: u16 = 6432;

/// A running pgbouncer in front of a [`Postgres`], on a Unix socket of its own.
pub struct PgBouncer {
    _server: Guarded,
    directory: TempDir,
}

impl PgBouncer {
    /// Starts it in transaction mode with at most `connections` to the server; fails by name if it is not
    /// installed.
    pub fn start(postgres: &Postgres, connections: usize) -> Self {
        let program = find_program("pgbouncer", "pgbouncer", &[]);
        let directory = tempfile::Builder::new()
            .prefix("zot-bouncer-")
            .tempdir_in("/tmp")
            .expect("make a temporary directory");
        hand_over(directory.path());
        let path = directory.path();
        let users = path.join("users.txt");
        fs::write(&users, "\"postgres\" \"\"\n").expect("write pgbouncer's users");
        let configuration = path.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_port = {PORT}\n\
             unix_socket_dir = {}\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {connections}\nmax_client_conn = 500\n",
            postgres.path().display(),
            postgres.port(),
            path.display(),
            users.display(),
        );
        fs::write(&configuration, text).expect("configure pgbouncer");
        let arguments: [&OsStr; 1] = [configuration.as_os_str()];
        let shell = unprivileged(Path::new("sh"));
        let server = Guarded::start(shell, &program, &arguments, path, "TERM");
        wait_for_socket(path);
        Self {
            _server: server,
            directory,
        }
    }

    /// Returns the URL of a database through pgbouncer.
    pub fn url(&self, database: &str) -> String {
        let host = self.directory.path().to_string_lossy().replace('/', "%2F");
        format!("postgres://postgres@{host}:{PORT}/{database}")
    }
}

fn wait_for_socket(directory: &Path) {
    let socket = directory.join(format!(".s.PGSQL.{PORT}"));
    let deadline = Instant::now() + START_TIME;
    while UnixStream::connect(&socket).is_err() {
        let log = || fs::read_to_string(directory.join("log")).unwrap_or_default();
        assert!(
            Instant::now() < deadline,
            "pgbouncer does not start: {}",
            log()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
