use super::*;

fn written(style: Style, depth: Depth) -> String {
    let mut out = String::new();
    write_style(&mut out, style, depth);
    out
}

#[test]
fn a_colour_is_shown_as_well_as_the_terminal_allows() {
    let red = Style::PLAIN.color(Color::Rgb(255, 0, 0)).bold();
    assert_eq!(written(red, Depth::True), "\x1b[0;1;38;2;255;0;0m");
    assert_eq!(written(red, Depth::Palette256), "\x1b[0;1;38;5;196m");
    assert_eq!(written(red, Depth::Sixteen), "\x1b[0;1;91m");
    assert_eq!(written(red, Depth::None), "\x1b[0;1m");
    let grey = Style::PLAIN.color(Color::Rgb(128, 128, 128));
    assert_eq!(written(grey, Depth::Palette256), "\x1b[0;38;5;244m");
    assert_eq!(written(grey, Depth::Sixteen), "\x1b[0;90m");
    let own = Style::PLAIN.color(Color::Ansi(9));
    assert_eq!(written(own, Depth::Sixteen), "\x1b[0;91m");
}

#[test]
fn the_environment_determines_the_number_of_colours() {
    let detect = |pairs: &'static [(&str, &str)]| {
        Depth::detect(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(detect(&[("TERM", "xterm")]), Depth::Sixteen);
    assert_eq!(detect(&[("TERM", "xterm-256color")]), Depth::Palette256);
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

#[test]
fn with_sixteen_colours_additions_are_green_and_removals_red() {
    for theme in [Theme::DARK, Theme::LIGHT] {
        assert_eq!(written(theme.added, Depth::Sixteen), "\x1b[0;32m");
        assert_eq!(written(theme.removed, Depth::Sixteen), "\x1b[0;31m");
        assert_eq!(written(theme.error, Depth::Sixteen), "\x1b[0;31m");
        assert_eq!(written(theme.success, Depth::Sixteen), "\x1b[0;32m");
        assert_eq!(written(theme.warning, Depth::Sixteen), "\x1b[0;33m");
        for depth in [Depth::Sixteen, Depth::Palette256, Depth::True] {
            assert_ne!(written(theme.added, depth), written(theme.removed, depth));
        }
        assert_eq!(written(theme.added, Depth::None), "\x1b[0m");
    }
    assert_eq!(written(Theme::DARK.accent, Depth::Sixteen), "\x1b[0;94m");
    assert_eq!(written(Theme::LIGHT.accent, Depth::Sixteen), "\x1b[0;34m");
    assert_eq!(written(Theme::DARK.link, Depth::Sixteen), "\x1b[0;4;96m");
    assert_eq!(written(Theme::LIGHT.user, Depth::Sixteen), "\x1b[0;1;35m");
}

#[test]
fn a_theme_is_parsed() {
    let text = r##"{"base": "light", "accent": "#0a0B0c", "user": {"color": "bright-red", "background": "default", "bold": true}}"##;
    let theme = Theme::parse(text).unwrap();
    assert_eq!(theme.accent, Style::PLAIN.color(Color::Rgb(10, 11, 12)));
    assert_eq!(theme.user, Style::PLAIN.color(Color::Ansi(9)).bold());
    assert_eq!(theme.error, Theme::LIGHT.error);
    assert_eq!(Theme::parse("{}"), Ok(Theme::DARK));
}

#[test]
fn an_invalid_theme_is_explained() {
    for (text, expected) in [
        ("[]", "expected an object"),
        ("{", "not JSON: "),
        (r#"{"base": "solar"}"#, "not \"solar\""),
        (
            r#"{"akcent": "red"}"#,
            "unknown role \"akcent\": expected one of accent, muted",
        ),
        (
            r#"{"user": "redd"}"#,
            "user: invalid colour \"redd\": expected \"#rrggbb\"",
        ),
        (r##"{"user": "#12345"}"##, "invalid colour"),
        (
            r#"{"user": {"fg": "red"}}"#,
            "user: unknown field \"fg\": expected one of color",
        ),
        (
            r#"{"user": {"bold": "yes"}}"#,
            "user: \"bold\" must be true or false, not \"yes\"",
        ),
    ] {
        let error = Theme::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
