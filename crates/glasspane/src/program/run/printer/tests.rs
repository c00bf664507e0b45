use super::Printer;
use crate::record::{Attached, Detached};
use crate::{Event, Kind, Record};

#[test]
fn a_line_for_each_record_but_deltas() {
    let mut printer = Printer::new(&[]);
    let mut lines = Vec::new();
    let attached = Attached {
        label: "one".to_owned(),
        ..Attached::default()
    };
    let events = [
        Event::prompt("do\nit"),
        Event::turn_start(1),
        Event::tool_start("c1", "bash"),
        Event::tool_output("c1", "noise"),
        Event::turn_end("tool_use"),
        Event::tool_end("c1", "\u{1b}[31mred", true),
        Event::tool_end("c2", "", false),
        Event::turn_start(2),
        Event::piece("assistant", "all "),
        Event::answer("all done"),
        Event::turn_end("end"),
        Event::new(Kind::AgentEnd),
    ];
    printer.print(&Record::of_attached("a1", 1000, attached), &mut lines);
    for (index, event) in (0_u64..).zip(events) {
        printer.print(
            &Record::of_event("a1", 1000 + index * 100, event),
            &mut lines,
        );
    }
    let detached = Detached {
        reason: "exited with 0".to_owned(),
        ..Detached::default()
    };
    printer.print(&Record::of_detached("a1", 2500, detached), &mut lines);
    printer.finish(&mut lines);
    let text = String::from_utf8(lines).unwrap();
    let expected = "    0.0s  one   > do it\n    0.1s  one   turn 1\n    0.2s  one   bash …\n    0.5s  one   bash failed: red\n    0.6s  one   c2 ended: \n    0.6s  one   ! protocol violation: tool c2 ended but was not started\n    0.7s  one   turn 2\n    0.9s  one   says: all done\n    1.1s  one   done\n    1.5s  one   exited with 0\none: done, turns 2, tools 1, 0 tokens in, 0 out, –, worked 1.0s, 1 protocol violations\n";
    assert_eq!(text, expected);
}
