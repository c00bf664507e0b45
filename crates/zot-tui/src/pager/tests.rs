use super::*;
use crate::app::Item;

fn log(count: usize) -> Log {
    let mut log = Log::default();
    for number in 1..=count {
        log.push(Item::Note(format!("note {number}")), 2);
    }
    log
}

fn pager(log: &Log) -> Pager {
    Pager::new(log, Vec::new(), (40, 11), &Theme::DARK)
}

fn shown(pager: &Pager) -> Vec<String> {
    let (lines, _) = screen(pager, &Theme::DARK);
    let text = |line: &Line| line.text().trim_end().to_owned();
    lines.iter().map(text).collect()
}

fn keys(pager: &mut Pager, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            key => KeyCode::Character(key),
        };
        assert_eq!(pager.press(&Key::plain(code)), Reading::Continues);
    }
}

#[test]
fn the_pager_opens_at_the_end_and_reaches_everything() {
    let mut pager = pager(&log(50));
    assert_eq!(shown(&pager)[9], "· note 50");
    let foot = shown(&pager).pop().unwrap();
    assert!(foot.starts_with("lines 91–100 of 100"), "{foot}");
    keys(&mut pager, "g");
    assert_eq!(shown(&pager)[1], "· note 1");
    keys(&mut pager, " j");
    assert_eq!(shown(&pager)[0], "· note 6");
    keys(&mut pager, "bk");
    assert_eq!(shown(&pager)[1], "· note 1");
    keys(&mut pager, "G");
    assert_eq!(shown(&pager)[9], "· note 50");
    let escape = Key::plain(KeyCode::Escape);
    for key in [escape, Key::control('o'), Key::control('c')] {
        assert_eq!(pager.press(&key), Reading::Ended);
    }
}

#[test]
fn a_search_goes_down_and_up_and_wraps_around() {
    let mut pager = pager(&log(50));
    keys(&mut pager, "g/NOTE 4\n");
    let foot = shown(&pager).pop().unwrap();
    assert!(foot.contains("not found: NOTE 4"), "{foot}");
    keys(&mut pager, "/note 4\n");
    assert_eq!(shown(&pager)[0], "· note 4");
    keys(&mut pager, "n");
    assert_eq!(shown(&pager)[0], "· note 40");
    keys(&mut pager, "N");
    assert_eq!(shown(&pager)[0], "· note 4");
    keys(&mut pager, "N");
    let rows = shown(&pager);
    assert!(rows.contains(&"· note 49".to_owned()), "{rows:?}");
    assert!(rows[10].contains("wrapped around"), "{rows:?}");
    let (lines, _) = screen(&pager, &Theme::DARK);
    let is_highlighted = |line: &Line| line.0.iter().any(|span| span.style.reverse);
    assert!(lines.iter().any(is_highlighted));
    // A cancelled search keeps the previous one.
    keys(&mut pager, "/other");
    pager.press(&Key::plain(KeyCode::Escape));
    assert_eq!(pager.query, "note 4");
}

#[test]
fn a_match_near_the_end_does_not_trap_the_search() {
    let mut pager = pager(&log(50));
    keys(&mut pager, "g/note\n");
    for _ in 0..60 {
        keys(&mut pager, "n");
    }
    // It wrapped around.
    assert!(pager.top < 60, "{}", pager.top);
}

#[test]
fn new_items_are_added_at_the_end_and_move_nothing_else() {
    let mut log = log(50);
    let mut pager = pager(&log);
    log.push(Item::Note("new".to_owned()), 2);
    pager.update(&log, vec![Line::plain("arriving")], &Theme::DARK);
    assert_eq!(shown(&pager)[8..10], ["· new", "arriving"]);
    keys(&mut pager, "g");
    log.push(Item::Note("newer".to_owned()), 2);
    pager.update(&log, Vec::new(), &Theme::DARK);
    assert_eq!(shown(&pager)[1], "· note 1");
    keys(&mut pager, "G");
    assert_eq!(shown(&pager)[9], "· newer");
}

#[test]
fn a_new_width_keeps_the_position() {
    let mut log = Log::default();
    for number in 1..=40 {
        let text = format!("note {number} {}", "word ".repeat(20));
        log.push(Item::Note(text), 4);
    }
    let mut pager = pager(&log);
    pager.show(20);
    assert!(shown(&pager)[1].starts_with("· note 20 "));
    pager.resize(&log, (90, 24), &Theme::DARK);
    assert!(shown(&pager)[1].starts_with("· note 20 "));
    assert_eq!(shown(&pager).len(), 24);
}

#[test]
fn case_matters_only_if_the_query_has_capital_letters() {
    assert_eq!(matches("Error error ÄRGER", "error"), [0..5, 6..11]);
    assert_eq!(matches("Error error", "Error"), vec![0..5; 1]);
    assert_eq!(matches("Ärger", "är"), vec![0..3; 1]);
    assert_eq!(matches("aaa", "aa"), vec![0..2; 1]);
    assert!(matches("x", "").is_empty());
}
