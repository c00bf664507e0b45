use std::ffi::OsStr;
use std::fs;
use std::io::Cursor;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Needs, Surroundings, elf, programs_needed, shebang};

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn shebang_lines_name_their_programs() {
    let check = |line: &str, expected: &[&str]| {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(shebang::programs(line.as_bytes()), expected, "{line:?}");
    };
    check("#!/bin/sh\necho", &["/bin/sh"]);
    check("#! /bin/sh -eu\n", &["/bin/sh"]);
    check("#!/bin/sh", &["/bin/sh"]);
    check("#!/usr/bin/python3\r\n", &["/usr/bin/python3"]);
    check("#!\n/bin/sh", &[]);
    let env = |name| ["/usr/bin/env", name];
    check("#!/usr/bin/env python3\n", &env("python3"));
    check("#!/usr/bin/env -S python3 -u\n", &env("python3"));
    check("#!/usr/bin/env -Snode --test\n", &env("node"));
    check("#!/usr/bin/env --split-string=node x\n", &env("node"));
    check("#!/usr/bin/env -vS node\n", &env("node"));
    check("#!/usr/bin/env -S -i A=b -u C deno run\n", &env("deno"));
    check("#!/usr/bin/env -S \"bun\" run\n", &env("bun"));
    check("#!/usr/bin/env\n", &["/usr/bin/env"]);
}

#[test]
fn scripts_of_scripts_are_followed_to_the_loader() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let inner = root.join("bin/inner");
    executable(&inner, "#!/bin/sh\n");
    let outer = root.join("bin/outer");
    executable(&outer, "#!/usr/bin/env inner\n");
    symlink(&outer, root.join("link")).unwrap();
    let needed = programs_needed(&root.join("link"), root.join("bin").as_os_str());
    let shell = Path::new("/bin/sh").canonicalize().unwrap();
    let env = Path::new("/usr/bin/env").canonicalize().unwrap();
    for program in [&outer, &inner, &shell, &env] {
        assert!(needed.contains(program), "{program:?} in {needed:?}");
    }
    if cfg!(target_os = "linux") {
        let loader = elf::loader(fs::File::open(&shell).unwrap()).unwrap();
        assert!(needed.contains(&loader.canonicalize().unwrap()));
    }
}

#[test]
fn scripts_that_interpret_each_other_end() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (one, other) = (root.join("one"), root.join("other"));
    executable(&one, &format!("#!{}\n", other.display()));
    executable(&other, &format!("#!{}\n", one.display()));
    assert_eq!(programs_needed(&one, OsStr::new("")), [one, other]);
}

#[test]
fn missing_programs_are_left_out() {
    let none: [PathBuf; 0] = [];
    assert_eq!(
        programs_needed(Path::new("no-such"), OsStr::new("/bin")),
        none
    );
    assert_eq!(programs_needed(Path::new("/no/such"), OsStr::new("")), none);
    assert_eq!(programs_needed(Path::new("/etc"), OsStr::new("")), none);
}

#[test]
fn a_shim_needs_every_version_and_its_manager() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let shim = root.join("shims/ruby");
    executable(&shim, "#!/usr/bin/env sh\n");
    executable(&root.join("libexec/manager"), "#!/usr/bin/env sh\n");
    for version in ["1", "2"] {
        executable(
            &root.join(format!("versions/{version}/bin/ruby")),
            "#!/bin/sh\n",
        );
        executable(
            &root.join(format!("versions/{version}/bin/gem")),
            "#!/bin/sh\n",
        );
        fs::create_dir(root.join(format!("versions/{version}/lib"))).unwrap();
    }
    let needs = |home: &Path| {
        let mut needs = Needs::default();
        let surroundings = Surroundings {
            search_path: OsStr::new("/usr/bin:/bin"),
            directory: None,
            home: Some(home.to_owned()),
        };
        needs.add(&shim, &surroundings);
        needs
    };
    let elsewhere = needs(Path::new("/home/someone"));
    for needed in [
        "shims/ruby",
        "libexec/manager",
        "versions/1/bin/ruby",
        "versions/2/bin/ruby",
    ] {
        assert!(
            elsewhere.execute.contains(&root.join(needed)),
            "{elsewhere:?}"
        );
    }
    assert!(!elsewhere.execute.contains(&root.join("versions/1/bin/gem")));
    assert!(elsewhere.read.contains(&root));
    assert!(
        !needs(&root).read.contains(&root),
        "a home directory is never readable as a whole"
    );
}

#[test]
fn libraries_of_installations_are_readable() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().canonicalize().unwrap();
    for program in ["bin/tool", ".local/bin/tool", "versions/3/bin/tool"] {
        executable(&home.join(program), "");
    }
    for library in ["lib", ".local/lib", ".local/share", "versions/3/lib"] {
        fs::create_dir_all(home.join(library)).unwrap();
    }
    let check = |program: &str, expected: &[&str]| {
        let mut needs = Needs::default();
        let surroundings = Surroundings {
            search_path: OsStr::new(""),
            directory: Some(&home),
            home: Some(home.clone()),
        };
        needs.add(Path::new(program), &surroundings);
        let expected: Vec<PathBuf> = expected.iter().map(|path| home.join(path)).collect();
        assert_eq!(needs.read, expected, "{program}");
    };
    check("bin/tool", &[]);
    check("./bin/tool", &[]);
    check(".local/bin/tool", &[".local/lib"]);
    check("versions/3/bin/tool", &["versions/3/lib"]);
}

/// A header of a program with one `PT_INTERP`, in either width and byte order.
fn program(is_64_bit: bool, is_little_endian: bool) -> Vec<u8> {
    let mut bytes = vec![0; 256];
    bytes[..4].copy_from_slice(b"\x7fELF");
    bytes[4] = if is_64_bit { 2 } else { 1 };
    bytes[5] = if is_little_endian { 1 } else { 2 };
    let mut put = |offset: usize, size: usize, value: u64| {
        let mut number = value.to_le_bytes()[..size].to_vec();
        if !is_little_endian {
            number.reverse();
        }
        bytes[offset..offset + size].copy_from_slice(&number);
    };
    if is_64_bit {
        put(32, 8, 64);
        put(54, 2, 56);
        put(56, 2, 2);
        put(64, 4, 6);
        put(120, 4, 3);
        put(120 + 8, 8, 200);
        put(120 + 32, 8, 11);
    } else {
        put(28, 4, 64);
        put(42, 2, 32);
        put(44, 2, 2);
        put(64, 4, 6);
        put(96, 4, 3);
        put(96 + 4, 4, 200);
        put(96 + 16, 4, 11);
    }
    bytes[200..211].copy_from_slice(b"/lib/ld.so\0");
    bytes
}

#[test]
fn loaders_are_found_in_every_kind_of_program() {
    for is_64_bit in [true, false] {
        for is_little_endian in [true, false] {
            let bytes = program(is_64_bit, is_little_endian);
            let loader = elf::loader(Cursor::new(&bytes));
            assert_eq!(loader.as_deref(), Some(Path::new("/lib/ld.so")));
            for length in 0..211 {
                assert_eq!(elf::loader(Cursor::new(&bytes[..length])), None);
            }
            for index in 0..bytes.len() {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[index] = value;
                    let _ = elf::loader(Cursor::new(damaged));
                }
            }
        }
    }
    assert_eq!(elf::loader(Cursor::new(b"#!/bin/sh")), None);
}

#[test]
fn files_that_are_not_executable_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let secret = root.join("secret");
    fs::write(&secret, "secret").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let link = root.join("link");
    symlink(&secret, &link).unwrap();
    let none: [PathBuf; 0] = [];
    assert_eq!(programs_needed(&link, OsStr::new("")), none);
    let script = root.join("script");
    executable(&script, &format!("#!{}\n", secret.display()));
    assert_eq!(programs_needed(&script, OsStr::new("")), [script]);
}

#[test]
fn an_installation_ends_where_a_link_leaves_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let installed = root.join("installed");
    let program = installed.join("bin/program");
    executable(&program, "");
    fs::create_dir(root.join("private")).unwrap();
    fs::create_dir(installed.join("lib")).unwrap();
    symlink("lib", installed.join("lib64")).unwrap();
    symlink(root.join("private"), installed.join("ssl")).unwrap();
    symlink(&root, installed.join("libexec")).unwrap();
    let surroundings = Surroundings {
        search_path: OsStr::new(""),
        directory: None,
        home: None,
    };
    let mut needs = Needs::default();
    needs.add(&program, &surroundings);
    assert_eq!(needs.read, [installed.join("lib")]);
}
