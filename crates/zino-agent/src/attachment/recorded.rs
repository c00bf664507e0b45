//! What a session has recorded, to know whether a prompt was begun by a worker that is gone.

use serde::Deserialize;
use serde_json::json;
use zot_wire::rpc::RequestId;
use zot_wire::write_line;

/// The id of the question, whose answer is not for the client.
const QUESTION: &str = "zino-attach-asks";

#[derive(Deserialize)]
struct Response {
    data: Messages,
}

#[derive(Deserialize)]
struct Messages {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(default)]
    text: String,
}

/// Asks for the messages, and returns the id of the answer.
pub(super) fn ask(to_worker: &mut Vec<u8>) -> Option<RequestId> {
    let question = json!({"id": QUESTION, "type": "get_messages"});
    write_line(to_worker, &question).ok()?;
    RequestId::text(QUESTION)
}

/// Returns the texts of the user's messages, the oldest first; `None` if they are not known.
pub(super) fn user_texts(line: &[u8]) -> Option<Vec<String>> {
    let response: Response = serde_json::from_slice(line).ok()?;
    let messages = response.data.messages.into_iter();
    let texts = messages
        .filter(|message| message.role == "user")
        .filter_map(|message| message.content.into_iter().next())
        .map(|block| block.text);
    Some(texts.collect())
}
