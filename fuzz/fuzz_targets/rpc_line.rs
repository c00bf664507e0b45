#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| xtask::fuzz_checks::rpc_line(data));
