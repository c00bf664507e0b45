use super::*;

fn written(style: Style, depth: Depth) -> String {
    let mut out = String::new();
    write_style(&mut out, style, depth);
    out
}

#[test]
fn a_colour_is_shown_as_well_as_the_terminal_can() {
    let red = Style::PLAIN.color(Color::Rgb(255, 0, 0)).bold();
    assert_eq!(written(red, Depth::True), "\x1b[0;1;38;2;255;0;0m");
    assert_eq!(written(red, Depth::TwoHundred), "\x1b[0;1;38;5;196m");
    assert_eq!(written(red, Depth::Sixteen), "\x1b[0;1;91m");
    assert_eq!(written(red, Depth::None), "\x1b[0;1m");
    let grey = Style::PLAIN.color(Color::Rgb(128, 128, 128));
    assert_eq!(written(grey, Depth::TwoHundred), "\x1b[0;38;5;244m");
    assert_eq!(written(grey, Depth::Sixteen), "\x1b[0;90m");
    let own = Style::PLAIN.color(Color::Ansi(9));
    assert_eq!(written(own, Depth::Sixteen), "\x1b[0;91m");
}

#[test]
fn the_environment_says_how_many_colours_there_are() {
    let detect = |pairs: &'static [(&str, &str)]| {
        Depth::detect(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(detect(&[("TERM", "xterm")]), Depth::Sixteen);
    assert_eq!(detect(&[("TERM", "xterm-256color")]), Depth::TwoHundred);
    assert_eq!(
        detect(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]),
        Depth::True
    );
    assert_eq!(
        detect(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]),
        Depth::None
    );
    assert_eq!(
        detect(&[("NO_COLOR", ""), ("TERM", "xterm")]),
        Depth::Sixteen
    );
    assert_eq!(detect(&[("TERM", "dumb")]), Depth::None);
}
