//! Interprets compiled programs and compares them with the table they came from.

use rustix::io::Errno;

use super::*;

const MACHINE: u32 = 7;

/// Runs `program` for a call, as the kernel does.
fn verdict(program: &Program, machine: u32, number: u32, arguments: [u32; 6]) -> u32 {
    let mut accumulator = 0;
    let mut next = 0;
    loop {
        let step = program[next];
        next += 1;
        let code = u32::from(step.code);
        let holds = match code {
            LOAD => {
                accumulator = match step.k {
                    NUMBER => number,
                    ARCHITECTURE => machine,
                    offset => arguments[((offset - ARGUMENTS) / 8) as usize],
                };
                continue;
            }
            RETURN => return step.k,
            JUMP => {
                next += step.k as usize;
                continue;
            }
            JUMP_IF_EQUAL => accumulator == step.k,
            JUMP_IF_NOT_LESS => accumulator >= step.k,
            JUMP_IF_BITS => accumulator & step.k != 0,
            other => panic!("instruction {other:#x}"),
        };
        next += usize::from(if holds { step.jt } else { step.jf });
    }
}

fn expected(table: &Table, number: u32, arguments: [u32; 6]) -> u32 {
    let Some(refusal) = table.get(&number) else {
        return libc::SECCOMP_RET_ALLOW;
    };
    let applies = |condition: &Condition| {
        let argument = arguments[usize::from(condition.argument)];
        match condition.test {
            Test::Equals(value) => argument == value,
            Test::Differs(value) => argument != value,
            Test::HasBits(bits) => argument & bits != 0,
            Test::LacksBits(bits) => argument & bits == 0,
        }
    };
    let refused =
        refusal.cases.is_empty() || refusal.cases.iter().any(|case| case.iter().all(applies));
    match refused {
        true => libc::SECCOMP_RET_ERRNO | refusal.error.raw_os_error().unsigned_abs(),
        false => libc::SECCOMP_RET_ALLOW,
    }
}

#[test]
fn a_program_decides_as_its_table_says() {
    let condition = |argument, test| Condition { argument, test };
    let mut table = Table::new();
    for number in (0..200).step_by(3) {
        let cases = match number % 4 {
            0 => Vec::new(),
            1 => vec![vec![condition(0, Test::Equals(number))]],
            2 => vec![
                vec![
                    condition(1, Test::Differs(5)),
                    condition(2, Test::HasBits(6)),
                ],
                vec![
                    condition(5, Test::LacksBits(9)),
                    condition(0, Test::Equals(1)),
                ],
            ],
            _ => vec![
                vec![condition(3, Test::HasBits(1))],
                vec![condition(4, Test::HasBits(2))],
            ],
        };
        let error = if number % 2 == 0 {
            Errno::PERM
        } else {
            Errno::NOSYS
        };
        table.insert(number, Refusal { error, cases });
    }
    let program = compile(&table, MACHINE);
    let mut random = 1_u32;
    for round in 0..100_000_u32 {
        let mut draw = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % 12
        };
        let arguments = [draw(), draw(), draw(), draw(), draw(), draw()];
        let number = round % 210;
        assert_eq!(
            verdict(&program, MACHINE, number, arguments),
            expected(&table, number, arguments),
            "{number} {arguments:?}"
        );
    }
    let other = verdict(&program, MACHINE + 1, 1, [0; 6]);
    assert_eq!(other, libc::SECCOMP_RET_KILL_PROCESS);
}
