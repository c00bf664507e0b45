//! Images are drawn over empty lines, and redrawn with them.

use super::*;
use crate::image::Drawing;
use crate::text::Line;

fn drawing(rows: usize, bytes: usize) -> Drawing {
    Drawing {
        columns: 20,
        rows,
        preamble: "sent once".to_owned(),
        sequence: "x".repeat(bytes).into(),
    }
}

fn app(columns: usize, rows: usize) -> App {
    let history = History::new(Vec::new());
    let mut app = App::new(Theme::DARK, columns, rows, Info::default(), history);
    app.transcript.keeps_scrollback = false;
    // The greeting has two lines.
    app.frame(0);
    app
}

fn note(app: &mut App, text: &str) {
    let text = text.to_owned();
    app.update(
        0,
        Input::Note {
            text,
            is_error: false,
        },
    );
}

/// Returns how many lines the next frame has, and its images: first line, rows, whether it is drawn
/// for the first time.
fn shown(app: &mut App, above: usize) -> (usize, Vec<(usize, usize, bool)>) {
    let frame = app.frame(above);
    for (line, drawing) in &frame.images {
        let room = &frame.finished[*line..line + drawing.rows];
        assert!(room.iter().all(|line| *line == Line::default()));
    }
    let images = frame.images.iter();
    let images = images.map(|(line, one)| (*line, one.rows, !one.preamble.is_empty()));
    (frame.finished.len(), images.collect())
}

#[test]
fn images_are_redrawn_where_they_were() {
    let mut app = app(40, 12);
    note(&mut app, "before");
    app.update(0, Input::Image(drawing(5, 10)));
    note(&mut app, "after");
    // Each note has an empty line above it.
    assert_eq!(shown(&mut app, 2), (9, vec![(2, 5, true)]));
    let resize = |app: &mut App, columns, rows| app.update(0, Input::Resized { columns, rows });
    // Another height moves nothing.
    resize(&mut app, 40, 14);
    assert_eq!(shown(&mut app, 9), (0, vec![]));
    app.transcript.request_redraw(Redraw::Visible);
    assert_eq!(shown(&mut app, 9), (9, vec![(2, 5, false)]));
    // A part of an image is not drawn.
    app.transcript.request_redraw(Redraw::Visible);
    assert_eq!(shown(&mut app, 5), (5, vec![]));
    resize(&mut app, 30, 12);
    assert_eq!(shown(&mut app, 9), (11, vec![(4, 5, false)]));
    // Without room there is only the description.
    resize(&mut app, 15, 12);
    assert_eq!(shown(&mut app, 9), (6, vec![]));
    resize(&mut app, 30, 5);
    assert_eq!(shown(&mut app, 4), (11, vec![]));
    resize(&mut app, 31, 12);
    assert_eq!(shown(&mut app, 4), (11, vec![(4, 5, false)]));
    app.transcript.forget_images();
    resize(&mut app, 30, 12);
    assert_eq!(shown(&mut app, 9), (6, vec![]));
}

#[test]
fn with_a_kept_scrollback_a_redrawn_screen_has_its_images() {
    let mut app = app(40, 12);
    app.transcript.keeps_scrollback = true;
    app.update(0, Input::Image(drawing(5, 10)));
    for _ in 0..2 {
        note(&mut app, "one");
    }
    app.frame(2);
    let resize = |app: &mut App, columns, rows| app.update(0, Input::Resized { columns, rows });
    resize(&mut app, 30, 13);
    assert_eq!(shown(&mut app, 9), (0, vec![]));
    // The live part takes three rows.
    app.transcript.request_redraw(Redraw::Screen);
    assert_eq!(shown(&mut app, 9), (10, vec![(1, 5, false)]));
    resize(&mut app, 31, 11);
    app.transcript.request_redraw(Redraw::Screen);
    assert_eq!(shown(&mut app, 8), (8, vec![]));
}

#[test]
fn a_full_redraw_includes_an_image_not_shown_yet() {
    let mut app = app(40, 12);
    app.update(0, Input::Image(drawing(5, 10)));
    app.update(
        0,
        Input::Resized {
            columns: 30,
            rows: 12,
        },
    );
    assert_eq!(shown(&mut app, 2), (7, vec![(2, 5, true)]));
}

#[test]
fn kept_images_are_limited() {
    let mut app = app(40, 50);
    for rows in 1..=4 {
        app.update(0, Input::Image(drawing(rows, 1_500_000)));
    }
    app.frame(2);
    app.update(
        0,
        Input::Resized {
            columns: 30,
            rows: 50,
        },
    );
    assert_eq!(shown(&mut app, 9), (9, vec![(2, 3, false), (5, 4, false)]));
}
