#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| xtask::fuzz_checks::sse_decoder(data));
