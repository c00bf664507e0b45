//! Random paths over a tree with links, while another thread swaps names: nothing outside is opened.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use zot_process::sandbox::{Level, Policy};

use crate::file::WITHOUT_OPENAT2;
use crate::sandbox::ToolSandbox;
use crate::test_support::Workspace;

/// Paths per mode: with all means of the system, and without namespaces and `openat2`.
const PATHS: u64 = 50_000;

/// What every file outside contains, and no file inside.
const SECRET: &str = "OUTSIDE";

/// Names that paths are made of. Those of links come up often.
const NAMES: [&str; 28] = [
    "a", "b", "c", "deep", "file", "other", "new", "hard", "shared", "near", "up", "out", "out",
    "gone", "absolute", "round", "one", "two", "process", "root", ".git", "config", ".vscode",
    "..", "..", ".", "secret", "inner",
];

/// A generator of the same numbers every time (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Two directories beside each other, of which tools may use one.
struct Tree {
    _both: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
}

impl Tree {
    fn new() -> Self {
        // In memory, where syncing costs nothing.
        let both = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let both = both.unwrap();
        let root = both.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        for directory in [
            "a/b/c",
            "deep/a/b/c",
            "one/inner",
            "two/inner",
            ".git",
            "settings",
        ] {
            fs::create_dir_all(inside.join(directory)).unwrap();
        }
        for directory in ["a/b/c", "deep", "inner", ".git"] {
            fs::create_dir_all(outside.join(directory)).unwrap();
        }
        for file in [
            "file",
            "a/file",
            "a/b/file",
            "deep/a/file",
            "one/file",
            "two/inner/file",
            ".git/config",
        ] {
            fs::write(inside.join(file), "inside").unwrap();
        }
        for file in [
            "file",
            "secret",
            "config",
            "other",
            "a/file",
            "a/b/file",
            "deep/file",
            "inner/file",
            ".git/config",
        ] {
            fs::write(outside.join(file), SECRET).unwrap();
        }
        fs::hard_link(inside.join("file"), inside.join("hard")).unwrap();
        fs::hard_link(inside.join(".git/config"), inside.join("a/config")).unwrap();
        // Reading it is allowed, because it is inside as well.
        fs::write(outside.join("shared"), "shared").unwrap();
        fs::hard_link(outside.join("shared"), inside.join("shared")).unwrap();
        for (target, link) in [
            (Path::new("../outside"), "out"),
            (outside.as_path(), "absolute"),
            (Path::new("../../outside/file"), "a/out"),
            (Path::new("a/b"), "near"),
            (Path::new(".."), "a/up"),
            (Path::new("../.."), "a/b/up"),
            (Path::new("round"), "round"),
            (Path::new("/proc/self/cwd"), "process"),
            (Path::new("/proc/self/root"), "root"),
            (Path::new("../outside/gone/new"), "gone"),
            (Path::new("settings"), ".vscode"),
            (Path::new(".git/config"), "a/b/config"),
            // Swapped with what they stand for.
            (Path::new("../outside"), "swap-directory"),
            (Path::new("../outside/file"), "swap-file"),
            (Path::new("../../outside/a"), "a/swap"),
            (Path::new("../../../outside/a/b"), "a/b/swap"),
        ] {
            symlink(target, inside.join(link)).unwrap();
        }
        Self {
            _both: both,
            inside,
            outside,
        }
    }

    /// Returns inode, times and content of everything outside.
    fn outside(&self) -> BTreeMap<PathBuf, (u64, i64, i64, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut ahead = vec![self.outside.clone()];
        while let Some(path) = ahead.pop() {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = match metadata.is_dir() {
                true => Vec::new(),
                false => fs::read(&path).unwrap(),
            };
            if metadata.is_dir() {
                let entries = fs::read_dir(&path).unwrap();
                ahead.extend(entries.map(|entry| entry.unwrap().path()));
            }
            // One whose other name is inside may lose that name, but not its content.
            let (time, fraction) = match path.ends_with("shared") {
                true => (0, 0),
                false => (metadata.ctime(), metadata.ctime_nsec()),
            };
            found.insert(path, (metadata.ino(), time, fraction, content));
        }
        found
    }

    /// Swaps directories and files with links, and directories with each other, until told to stop.
    fn swap(&self, stop: &AtomicBool, swaps: &AtomicU64) {
        let pairs = [
            ("a", "swap-directory"),
            ("file", "swap-file"),
            ("a/b", "a/swap"),
            ("a/b/c", "a/b/swap"),
            ("one", "two"),
            ("one/inner", "out"),
            ("deep", "near"),
            ("hard", "shared"),
            ("out", "settings"),
        ];
        let mut numbers = Numbers(7);
        while !stop.load(Ordering::Relaxed) {
            let (one, other) = pairs[numbers.below(pairs.len())];
            let (one, other) = (self.inside.join(one), self.inside.join(other));
            if renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok() {
                // Constant swaps would keep the kernel from finding anything at all.
                if swaps.fetch_add(1, Ordering::Relaxed).is_multiple_of(4) {
                    thread::sleep(Duration::from_micros(10));
                }
            }
        }
    }

    fn random_path(&self, numbers: &mut Numbers) -> String {
        let (inside, outside) = (self.inside.display(), self.outside.display());
        let mut path = match numbers.below(24) {
            0 => format!("{inside}/"),
            1 => format!("{outside}/"),
            2 => format!("{inside}/../outside/"),
            3 => format!("/proc/self/root{outside}/"),
            4 => format!("/proc/self/cwd/{inside}/"),
            5 => format!("root{outside}/"),
            6 => "a/b/c/../../../../outside/".to_owned(),
            7 => "~/".to_owned(),
            _ => String::new(),
        };
        let count = 1 + numbers.below(5);
        let names: Vec<&str> = (0..count)
            .map(|_| NAMES[numbers.below(NAMES.len())])
            .collect();
        path.push_str(&names.join("/"));
        path
    }
}

/// How often tools did what they were asked.
#[derive(Debug, Default)]
struct Counts {
    read: u64,
    written: u64,
    edited: u64,
    refused: u64,
}

async fn try_paths(tree: &Tree, workspace: &Workspace, seed: u64) -> Counts {
    let mut numbers = Numbers(seed);
    let mut counts = Counts::default();
    for _ in 0..PATHS {
        let path = tree.random_path(&mut numbers);
        let call = async |tool: &str, arguments: Value| {
            let output = workspace.call(tool, arguments).await;
            let text = output.joined_text();
            assert!(!text.contains(SECRET), "{tool} {path}: {text}");
            !output.is_error
        };
        let (done, count) = match numbers.below(10) {
            0..6 => (
                call("read", json!({ "path": path })).await,
                &mut counts.read,
            ),
            6..8 => {
                let arguments = json!({"path": path, "content": "inside"});
                (call("write", arguments).await, &mut counts.written)
            }
            _ => {
                let edits = json!([{"oldText": "inside", "newText": "edited"}]);
                let arguments = json!({"path": path, "edits": edits});
                (call("edit", arguments).await, &mut counts.edited)
            }
        };
        match done {
            true => *count += 1,
            false => counts.refused += 1,
        }
    }
    counts
}

/// Ends the other thread, also after a failed assertion.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn check(change: impl FnOnce(ToolSandbox) -> ToolSandbox, seed: u64) {
    let tree = Tree::new();
    let protected = || {
        let config = fs::metadata(tree.inside.join(".git/config")).unwrap();
        (config.ino(), config.mtime(), config.mtime_nsec())
    };
    let (before, protected_before) = (tree.outside(), protected());
    let sandbox = change(ToolSandbox::new(&tree.inside, None));
    sandbox.set_policy(Policy::at(Level::Workspace)).unwrap();
    let workspace = Workspace::in_directory(&tree.inside, sandbox);
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let executor = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let counts = thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| tree.swap(&stop, &swaps));
        executor.block_on(try_paths(&tree, &workspace, seed))
    });
    let swaps = swaps.into_inner();
    println!("{counts:?}, {swaps} swaps");
    assert_eq!(tree.outside(), before, "nothing outside was touched");
    assert_eq!(protected(), protected_before);
    // The tools did something while names were swapped.
    let Counts {
        read,
        written,
        edited,
        refused,
    } = counts;
    let least = PATHS / 500;
    assert!(read > least && written > least && edited > least && refused > least);
    assert!(swaps > PATHS / 10, "{swaps}");
}

#[test]
fn nothing_outside_is_opened_while_names_are_swapped() {
    check(|sandbox| sandbox, 1);
}

#[test]
fn nothing_outside_is_opened_where_openat2_and_namespaces_are_missing() {
    WITHOUT_OPENAT2.store(true, Ordering::Relaxed);
    check(ToolSandbox::without_namespaces, 2);
    WITHOUT_OPENAT2.store(false, Ordering::Relaxed);
}
