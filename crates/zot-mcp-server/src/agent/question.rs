//! Questions of tools, such as those of MCP servers that the agent uses, passed on to the client's user.

use std::time::Duration;

use serde_json::Value;
use zot_conversation::{Answer as ToolAnswer, JsonObject, Question as ToolQuestion, QuestionKind};

use crate::elicitation::{Answer, Kind, Question};

/// How long the client's user may take to answer a question of a tool.
///
/// Limit: the call counts as given up.
const QUESTION_TIME: Duration = Duration::from_secs(300);

pub(crate) fn of_tool(question: &ToolQuestion) -> Question {
    Question {
        // The user has to know who asks.
        message: format!("{} asks: {}", question.origin, question.message),
        kind: match &question.kind {
            QuestionKind::Form { schema } => {
                Kind::Form(serde_json::from_str(schema.as_str()).unwrap_or_default())
            }
            QuestionKind::Url { url } => Kind::Url(url.clone()),
        },
        patience: QUESTION_TIME,
    }
}

pub(crate) fn answer(answer: &Answer) -> ToolAnswer {
    match answer {
        Answer::Accept(content) => ToolAnswer::Accept {
            content: JsonObject::parse(&Value::Object(content.clone()).to_string()).ok(),
        },
        Answer::Decline | Answer::Unavailable => ToolAnswer::Decline,
        Answer::Cancel => ToolAnswer::Cancel,
    }
}
