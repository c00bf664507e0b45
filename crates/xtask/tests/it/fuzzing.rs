//! Runs the fuzz targets for a bounded number of cases: seeds from the captures and the wires, mutated by
//! a deterministic generator.

use std::io;

use xtask::fuzz_checks::{hermes_blocks, input, partial_arguments, rpc_line, sse_decoder};
use xtask::protocol::{Direction, read_captures};
use xtask::repository::root;

const CASES: usize = 20_000;

/// The longest input; short, so that there are many cases.
const MAX_INPUT: usize = 600;

/// Bytes with a meaning to one of the decoders.
const SIGNIFICANT_BYTES: &[u8] = b"\n\r:{}<>[]\"\\,u0 dae\xef\xbb\xbf\xe2\x80\xa8\xff";

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit.max(1)
    }

    fn mutate(&mut self, content: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(content.len() + 1);
        match self.below(6) {
            0 => content.insert(at, SIGNIFICANT_BYTES[self.below(SIGNIFICANT_BYTES.len())]),
            1 if at < content.len() => drop(content.remove(at)),
            2 if at < content.len() => content[at] = self.next() as u8,
            3 => content.truncate(at),
            4 => {
                let end = content.len().min(at + self.below(20));
                let part = content[at..end].to_vec();
                content.splice(at..at, part);
            }
            _ => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                content.truncate(at);
                content.extend_from_slice(&other[from..]);
            }
        }
        content.truncate(MAX_INPUT);
    }

    fn lengths(&mut self) -> Vec<u8> {
        let count = self.below(12);
        (0..count).map(|_| self.below(40) as u8).collect()
    }
}

fn run(check: fn(&[u8]), seeds: &[Vec<u8>]) {
    assert!(!seeds.is_empty());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for seed in seeds {
        check(&input(&random.lengths(), seed));
    }
    for _ in 0..CASES {
        let mut content = seeds[random.below(seeds.len())].clone();
        for _ in 0..random.below(5) {
            random.mutate(&mut content, seeds);
        }
        check(&input(&random.lengths(), &content));
    }
}

fn captured_frames(direction: Direction) -> io::Result<Vec<String>> {
    let captures = read_captures(&root())?;
    let frames = captures.into_iter().flat_map(|capture| capture.frames);
    let frames = frames.filter(|(went, _)| *went == direction);
    Ok(frames.map(|(_, frame)| frame.to_string()).collect())
}

#[test]
fn rpc_lines() {
    let mut seeds: Vec<Vec<u8>> = captured_frames(Direction::Sent)
        .unwrap()
        .windows(2)
        .map(|pair| pair.join("\n").into_bytes())
        .collect();
    seeds.extend([
        b"{\"id\":1e999,\"type\":\"ping\"}\n".to_vec(),
        b"{\"ID\":\"\\ud800\",\"TYPE\":\"ping\",\"type\":\"abort\"}".to_vec(),
        b"null\n[]\n\xff\n".to_vec(),
        vec![b'x'; 257],
    ]);
    run(rpc_line, &seeds);
}

#[test]
fn server_sent_events() {
    let frames = captured_frames(Direction::Received).unwrap();
    let mut seeds: Vec<Vec<u8>> = frames
        .iter()
        .step_by(7)
        .map(|frame| format!("event: delta\ndata: {frame}\n\ndata: [DONE]\n\n").into_bytes())
        .collect();
    seeds.extend([
        b"\xef\xbb\xbfdata: a\r\n\r\ndata:b\rdata\r\r".to_vec(),
        b": comment\nevent:x\nid: 7\nretry: 1\ndatabase: no\ndata: a\ndata: b\n\n".to_vec(),
        b"data: unterminated".to_vec(),
    ]);
    run(sse_decoder, &seeds);
}

#[test]
fn arguments_in_parts() {
    let mut seeds: Vec<Vec<u8>> = read_captures(&root())
        .unwrap()
        .into_iter()
        .flat_map(|capture| capture.frames)
        .filter(|(_, frame)| frame["type"] == "tool_call")
        .map(|(_, frame)| frame["args"].to_string().into_bytes())
        .collect();
    seeds.extend([
        b" {\"a\": \"\\u00e9\\ud83d\\ude00\", \"b\": [1, 2.5e3, null]} ".to_vec(),
        "{\"path\":\"日本 🎉\"}".as_bytes().to_vec(),
        b"".to_vec(),
        b"[]".to_vec(),
        b"{\"half".to_vec(),
        [b"{\"a\":".repeat(90), b"1".to_vec(), b"}".repeat(90)].concat(),
    ]);
    run(partial_arguments, &seeds);
}

#[test]
fn blocks_in_text() {
    let call =
        "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>";
    let seeds = [
        format!("before {call} between {call} after"),
        format!("<<tool_call></tool_call><task>{call}</task></task>"),
        "<tool_call>".repeat(9) + &"</tool_call>".repeat(9),
        "<ta<tool_<task>日本</tas</tool_call></task".to_owned(),
        format!("<task>{}", "🎉".repeat(40)),
        "<tool_call>{\"text\":\"</tool_call>\"}</tool_call>".to_owned(),
    ];
    run(hermes_blocks, &seeds.map(String::into_bytes));
}
