//! Compiles a table of system calls to a filter program.
//!
//! One program decides about everything, by binary search: the kernel runs it for every number of a
//! system call when it is installed, and for some of them at every call.

use std::collections::BTreeMap;

use rustix::io::Errno;

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) error: Errno,
    /// It is refused if one of these applies; always if there are none.
    pub(super) cases: Vec<Case>,
}

/// Conditions that apply together.
pub(super) type Case = Vec<Condition>;

/// A condition on the lower half of an argument, which is all that the kernel looks at here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) argument: u8,
    pub(super) test: Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Equals(u32),
    Differs(u32),
    HasBits(u32),
    LacksBits(u32),
}

/// The calls that are refused, by number.
pub(super) type Table = BTreeMap<u32, Refusal>;

/// A compiled filter.
pub(crate) type Program = Vec<libc::sock_filter>;

/// Where the kernel puts the number, the architecture and the arguments of a call.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// On `x86_64`, the numbers of the x32 ABI begin here.
const X32_NUMBERS: u32 = 0x4000_0000;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const JUMP_IF_NOT_LESS: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const JUMP_IF_BITS: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;

/// Returns the kernel's name for this processor; `None` if filters are not supported on it.
pub(super) fn architecture() -> Option<u32> {
    match std::env::consts::ARCH {
        "x86_64" => Some(0xc000_003e),
        "aarch64" => Some(0xc000_00b7),
        "riscv64" => Some(0xc000_00f3),
        _ => None,
    }
}

/// Compiles `table`. Calls of another architecture, which have other numbers, end the process.
pub(super) fn compile(table: &Table, architecture: u32) -> Program {
    let mut program = vec![
        instruction(LOAD, ARCHITECTURE),
        jump(JUMP_IF_EQUAL, architecture, 1, 0),
        instruction(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(LOAD, NUMBER),
    ];
    if std::env::consts::ARCH == "x86_64" {
        program.push(jump(JUMP_IF_NOT_LESS, X32_NUMBERS, 0, 1));
        program.push(returned(Errno::NOSYS));
    }
    let calls: Vec<(u32, &Refusal)> = table.iter().map(|(call, how)| (*call, how)).collect();
    program.extend(search(&calls));
    program
}

/// Finds the number in sorted `calls`.
fn search(calls: &[(u32, &Refusal)]) -> Program {
    let Some((middle, _)) = calls.get(calls.len() / 2) else {
        return vec![instruction(RETURN, libc::SECCOMP_RET_ALLOW)];
    };
    if let [(call, refusal)] = calls {
        let mut program = vec![
            jump(JUMP_IF_EQUAL, *call, 1, 0),
            instruction(RETURN, libc::SECCOMP_RET_ALLOW),
        ];
        program.extend(refused(refusal));
        return program;
    }
    let (lower, upper) = calls.split_at(calls.len() / 2);
    let lower = search(lower);
    let mut program = match u8::try_from(lower.len()) {
        Ok(length) => vec![jump(JUMP_IF_NOT_LESS, *middle, length, 0)],
        Err(_) => vec![
            jump(JUMP_IF_NOT_LESS, *middle, 0, 1),
            instruction(JUMP, lower.len() as u32),
        ],
    };
    program.extend(lower);
    program.extend(search(upper));
    program
}

fn refused(refusal: &Refusal) -> Program {
    let mut program = Program::new();
    for case in &refusal.cases {
        let mut left = case.len() as u8;
        for condition in case {
            left -= 1;
            // Past the remaining conditions, two instructions each, and the return.
            let next = 2 * left + 1;
            let offset = ARGUMENTS + 8 * u32::from(condition.argument);
            let offset = match cfg!(target_endian = "big") {
                true => offset + 4,
                false => offset,
            };
            program.push(instruction(LOAD, offset));
            program.push(match condition.test {
                Test::Equals(value) => jump(JUMP_IF_EQUAL, value, 0, next),
                Test::Differs(value) => jump(JUMP_IF_EQUAL, value, next, 0),
                Test::HasBits(bits) => jump(JUMP_IF_BITS, bits, 0, next),
                Test::LacksBits(bits) => jump(JUMP_IF_BITS, bits, next, 0),
            });
        }
        program.push(returned(refusal.error));
    }
    program.push(match refusal.cases.is_empty() {
        true => returned(refusal.error),
        false => instruction(RETURN, libc::SECCOMP_RET_ALLOW),
    });
    program
}

fn returned(error: Errno) -> libc::sock_filter {
    let number = error.raw_os_error().unsigned_abs() & libc::SECCOMP_RET_DATA;
    instruction(RETURN, libc::SECCOMP_RET_ERRNO | number)
}

fn instruction(code: u32, operand: u32) -> libc::sock_filter {
    jump(code, operand, 0, 0)
}

fn jump(code: u32, operand: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k: operand,
    }
}

#[cfg(test)]
mod tests;
