#![allow(unsafe_code)]
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use zot_process::sandbox::*;
fn cpu() -> (Duration, Duration) {
    let r = |who| unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut u);
        Duration::new(u.ru_utime.tv_sec as u64 + u.ru_stime.tv_sec as u64, 0)
            + Duration::from_micros(u.ru_utime.tv_usec as u64 + u.ru_stime.tv_usec as u64)
    };
    (r(libc::RUSAGE_SELF), r(libc::RUSAGE_CHILDREN))
}
fn main() {
    let rt = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let _ballast: Vec<u8> = (0..2_000_000u32).map(|x| x as u8).collect();
    let scratch = tempfile::tempdir().unwrap();
    let s = |p: Policy, a: bool| {
        Sandbox::new(
            p,
            Surroundings {
                workspace: dir.path().into(),
                home: std::env::home_dir(),
                scratch: {
                    let x = scratch.path().join(format!("{a}{:?}", p_name()));
                    std::fs::create_dir_all(&x).unwrap();
                    x
                },
                without_namespaces: a,
                ..Default::default()
            },
        )
        .unwrap()
    };
    fn p_name() -> u64 {
        use std::sync::atomic::*;
        static N: AtomicU64 = AtomicU64::new(0);
        N.fetch_add(1, Ordering::SeqCst)
    }
    let modes = [
        ("off", s(Policy::default(), false)),
        ("workspace", s(Policy::at(Level::Workspace), false)),
        ("jail", s(Policy::jail(), false)),
        ("alone", s(Policy::at(Level::Workspace), true)),
    ];
    let mut tot = vec![(Vec::new(), Vec::new(), Vec::new()); 4];
    let n: i32 = std::env::args().nth(1).map_or(300, |x| x.parse().unwrap());
    if let Some(k) = std::env::args().nth(2) { let k: usize = k.parse().unwrap(); rt.block_on(async { let t = Instant::now(); let (c0, _) = cpu(); for _ in 0..n { let mut c = Command::new("/bin/sh"); c.args(["-c", "true"]).current_dir(dir.path()); let _p = modes[k].1.prepare(c).unwrap(); } println!("only prepare {:?} cpu {:?}", t.elapsed() / n as u32, (cpu().0 - c0) / n as u32); }); return; }
    rt.block_on(async {
        for i in 0..n {
            for (k, (_, sandbox)) in modes.iter().enumerate() {
                let (c0, d0) = cpu();
                let t = Instant::now();
                let mut c = Command::new("/bin/sh");
                c.args(["-c", "true"]).current_dir(dir.path());
                let mut p = sandbox.prepare(c).unwrap();
                p.command
                    .command_mut()
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                let prep = t.elapsed();
                let g = zot_process::ProcessGroup::spawn(p.command).unwrap();
                g.close().await;
                let _ = sandbox.obstacles(&p.run);
                let w = t.elapsed();
                let (c1, d1) = cpu();
                if i > n / 10 {
                    tot[k].0.push(w);
                    tot[k].1.push((c1 - c0) + (d1 - d0));
                    tot[k].2.push(prep);
                }
            }
        }
    });
    for (k, (name, _)) in modes.iter().enumerate() {
        let mut f = |v: &mut Vec<Duration>| {
            v.sort();
            (v[v.len() / 2], v.iter().sum::<Duration>() / v.len() as u32)
        };
        println!(
            "{name}: wall median {:?} cpu mean {:?} median {:?} prepare {:?}",
            f(&mut tot[k].0.clone()).0,
            f(&mut tot[k].1.clone()).1,
            f(&mut tot[k].1.clone()).0,
            f(&mut tot[k].2.clone()).0
        );
    }
}
