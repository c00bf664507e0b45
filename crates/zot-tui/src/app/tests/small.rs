//! Screens too small for anything, and windows dragged through all sizes.

use super::hostile::HostileInputs;
use super::*;

#[test]
fn any_input_is_drawn_on_any_screen() {
    let mut hostile = HostileInputs(0x0dd_b1a5);
    let sizes = (1..=20).flat_map(|columns| (1..=5).map(move |rows| (columns, rows)));
    let mut dragged = App::new(Theme::DARK, 1, 1, Info::default(), History::default());
    let mut screen = Renderer::new(Depth::True);
    for (columns, rows) in sizes {
        let info = Info {
            model: "a-model".to_owned(),
            ..Info::default()
        };
        let mut fresh = App::new(Theme::LIGHT, columns, rows, info, History::default());
        let mut other = Renderer::new(Depth::Sixteen);
        dragged.update(1, Input::Resized { columns, rows });
        for step in 0..4 {
            let input = hostile.input();
            for (app, renderer) in [(&mut dragged, &mut screen), (&mut fresh, &mut other)] {
                app.update(step * 300, input.clone());
                // The screen may have fewer rows than the layout assumes.
                let frame = app.frame(renderer.above());
                renderer.draw(frame, rows);
            }
        }
    }
}
