//! Images that a provider does not accept: refused before they are sent, or dropped afterwards.

use serde_json::{Value, json};
use testkit::{IMAGE_BASE64, ModelServer, Reply, Wire, ZotCommand};

use crate::support::{Session, assert_no_error, binary, of_kind, streamed_text};

/// The errors of providers; the last one gives no reason.
const REFUSALS: [(u16, &str); 4] = [
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64.data: Could not process image"}}"#,
    ),
    (
        400,
        r#"{"error":{"message":"You uploaded an unsupported image.","type":"invalid_request_error","code":"invalid_image_format"}}"#,
    ),
    (
        404,
        r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#,
    ),
    (400, r#"{"error":{"message":"Bad Request"}}"#),
];

fn send_image(session: &mut Session, id: &str, mime_type: &str, data: &str) -> Vec<Value> {
    session.zot.send(json!({
        "id": id, "type": "prompt", "message": "what is this?",
        "images": [{"mime_type": mime_type, "data": data}],
    }));
    let ended = |frame: &Value| frame["type"] == "done" || frame["success"] == false;
    session.zot.collect_until(ended)
}

fn last_request(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body.to_string()
}

#[test]
fn a_refused_image_is_reported_and_dropped() {
    for wire in Wire::ALL {
        for (status, body) in REFUSALS {
            let server = ModelServer::with_script([
                Reply::status(status, body),
                Reply::directive("say:1"),
                Reply::directive("say:1"),
            ]);
            let mut session = Session::on(server, wire, |zot| zot);
            let frames = send_image(&mut session, "1", "image/png", IMAGE_BASE64);
            let error = of_kind(&frames, "error")[0];
            assert_eq!(error["code"], "invalid_request", "{wire:?}");
            let message = error["message"].as_str().unwrap();
            let note = "(left out of the conversation from now on: image/png, 73 bytes)";
            assert!(message.ends_with(note), "{message}");
            assert_eq!(of_kind(&frames, "turn_end")[0]["error"], message);

            let frames = session.zot.turn("2", "and now?");
            assert_no_error(&frames);
            let sent = last_request(&session.server);
            assert!(!sent.contains(IMAGE_BASE64), "{wire:?} {body}");
            assert!(sent.contains("what is this?"), "{sent}");
            assert!(
                sent.contains("[image left out: image/png, 73 bytes"),
                "{sent}"
            );
            assert_no_error(&session.zot.turn("3", "still there?"));
        }
    }
}

/// An image that was accepted once is not blamed for the failure of a later request.
#[test]
fn accepted_images_stay() {
    for wire in Wire::ALL {
        let server = ModelServer::with_script([
            Reply::directive("say:1"),
            Reply::status(400, r#"{"error":{"message":"Bad Request"}}"#),
            Reply::directive("say:1"),
        ]);
        let mut session = Session::on(server, wire, |zot| zot);
        assert_no_error(&send_image(&mut session, "1", "image/png", IMAGE_BASE64));
        let frames = session.zot.turn("2", "something odd");
        let message = of_kind(&frames, "error")[0]["message"].as_str().unwrap();
        assert!(!message.contains("left out"), "{message}");
        assert_no_error(&session.zot.turn("3", "go on"));
        assert!(
            last_request(&session.server).contains(IMAGE_BASE64),
            "{wire:?}"
        );
    }
}

#[test]
fn a_refused_image_of_a_tool_result_is_dropped_too() {
    for wire in Wire::ALL {
        let server = ModelServer::with_script([
            Reply::directive(r#"tool:read:{"path":"pic.png"}"#),
            Reply::status(400, REFUSALS[0].1),
            Reply::directive("say:1"),
        ]);
        let mut session = Session::on(server, wire, |zot| zot);
        let frames = session.zot.turn("1", "look at pic.png");
        let message = of_kind(&frames, "error")[0]["message"].as_str().unwrap();
        assert!(message.contains("left out"), "{wire:?}: {message}");
        let frames = session.zot.turn("2", "go on");
        assert_no_error(&frames);
        assert_eq!(streamed_text(&frames), "alpha ");
        assert!(
            !last_request(&session.server).contains(IMAGE_BASE64),
            "{wire:?}"
        );
    }
}

/// Another process that resumes the session is not refused again.
#[test]
fn a_resumed_session_has_no_refused_image() {
    for wire in Wire::BOTH {
        let server = ModelServer::with_script([
            Reply::status(400, REFUSALS[0].1),
            Reply::directive("say:1"),
        ]);
        let mut session = Session::on(server, wire, |zot| {
            zot.arguments(["--session", "kept.jsonl"])
        });
        let frames = send_image(&mut session, "1", "image/png", IMAGE_BASE64);
        assert_eq!(of_kind(&frames, "error").len(), 1);
        let Session {
            zot,
            server,
            workdir,
        } = session;
        zot.finish();
        let mut again = ZotCommand::rpc(binary(), &workdir, &server, wire)
            .arguments(["--session", "kept.jsonl"])
            .spawn();
        assert_no_error(&again.turn("2", "and now?"));
        let sent = last_request(&server);
        assert!(sent.contains("what is this?"), "{sent}");
        assert!(!sent.contains(IMAGE_BASE64), "{sent}");
    }
}

/// The bytes decide, not the declared type.
#[test]
fn the_declared_type_of_an_image_is_checked() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        let frames = send_image(&mut session, "1", "image/jpeg", IMAGE_BASE64);
        let block = json!({"type": "image", "mime_type": "image/png", "bytes": 73});
        assert_eq!(of_kind(&frames, "user_message")[0]["content"][1], block);
        let sent = last_request(&session.server);
        assert!(
            sent.contains("image/png") && !sent.contains("image/jpeg"),
            "{sent}"
        );

        // BMP, TIFF, SVG, nothing at all.
        for (data, found) in [
            ("Qk1GAAAAAAAAADYAAAAoAAAA", "got BMP"),
            ("SUkqAAgAAAA=", "got TIFF"),
            ("PHN2ZyB4bWxucz0iIi8+", "got SVG"),
            ("", "got 0 bytes"),
        ] {
            let requests = session.server.requests().len();
            let frames = send_image(&mut session, "2", "image/png", data);
            let refused = frames.last().unwrap();
            assert_eq!(refused["code"], "invalid_argument", "{data}");
            let error = refused["error"].as_str().unwrap();
            assert!(error.starts_with("images.0: expected a PNG, JPEG, GIF or WebP image"));
            assert!(error.contains(found), "{error}");
            assert_eq!(session.server.requests().len(), requests);
        }
    }
}
