use super::*;

fn note(text: &str) -> Notice {
    Notice::Notify {
        extension: "e".to_owned(),
        level: "info".to_owned(),
        message: text.to_owned(),
    }
}

fn panel(line: &str) -> Notice {
    Notice::Panel {
        extension: "e".to_owned(),
        panel_id: "p".to_owned(),
        content: PanelContent {
            lines: vec![line.to_owned()],
            ..PanelContent::default()
        },
    }
}

#[tokio::test]
async fn notices_come_in_order_and_are_dropped_when_the_queue_is_full() {
    let notices = Notices::default();
    for number in 0..1000 {
        let kept = notices.push(note(&number.to_string()));
        assert_eq!(kept, number < MAX_NOTICES);
    }
    assert_eq!(notices.next().await, note("0"));
    assert_eq!(notices.next().await, note("1"));
    assert!(notices.push(note("again")));
}

#[tokio::test]
async fn a_panel_drawn_twice_is_shown_once() {
    let notices = Notices::default();
    for number in 0..1000 {
        assert!(notices.push(panel(&number.to_string())));
    }
    assert_eq!(notices.next().await, panel("999"));
    assert_eq!(notices.take(), None);
}

/// Only the last drawing of each panel is queued, whatever comes in between: none can be lost.
#[tokio::test]
async fn drawings_of_two_panels_do_not_fill_the_queue() {
    let other = |line: &str| match panel(line) {
        Notice::Panel { content, .. } => Notice::Panel {
            extension: "e".to_owned(),
            panel_id: "other".to_owned(),
            content,
        },
        notice => notice,
    };
    let notices = Notices::default();
    assert!(notices.push(note("between")));
    for number in 0..1000 {
        assert!(notices.push(panel(&number.to_string())));
        assert!(notices.push(other(&number.to_string())));
    }
    assert_eq!(notices.take(), Some(note("between")));
    assert_eq!(notices.take(), Some(panel("999")));
    assert_eq!(notices.take(), Some(other("999")));
    assert_eq!(notices.take(), None);
}

#[tokio::test]
async fn a_panel_that_was_closed_stays_closed_before_it_is_drawn_again() {
    let notices = Notices::default();
    let closed = Notice::PanelClosed {
        extension: "e".to_owned(),
        panel_id: "p".to_owned(),
    };
    for notice in [panel("1"), closed.clone(), panel("2"), panel("3")] {
        assert!(notices.push(notice));
    }
    assert_eq!(notices.take(), Some(panel("1")));
    assert_eq!(notices.take(), Some(closed));
    assert_eq!(notices.take(), Some(panel("3")));
}

#[tokio::test]
async fn bytes_are_bounded_too() {
    let notices = Notices::default();
    let long = "x".repeat(1024 * 1024);
    let kept = (0..100).filter(|_| notices.push(note(&long))).count();
    assert!(kept < 5, "{kept}");
    while notices.take().is_some() {}
    assert!(notices.push(note(&long)));
}
