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
async fn notices_come_in_order_and_later_ones_are_lost_when_nobody_looks() {
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

#[tokio::test]
async fn bytes_are_bounded_too() {
    let notices = Notices::default();
    let long = "x".repeat(1024 * 1024);
    let kept = (0..100).filter(|_| notices.push(note(&long))).count();
    assert!(kept < 5, "{kept}");
    while notices.take().is_some() {}
    assert!(notices.push(note(&long)));
}
