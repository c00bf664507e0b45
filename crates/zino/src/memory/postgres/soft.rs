//! The soft memory.

use super::PostgresStore;
use crate::memory::error::StoreError;
use crate::postgres::bytes;

impl PostgresStore {
    pub(super) async fn soft(&self) -> Result<String, StoreError> {
        let statement = "select content from zino_soft";
        let rows = self.pool.query(statement, &[], self.efforts.read()).await?;
        let Some(row) = rows.first() else {
            return Ok(String::new());
        };
        let content: &[u8] = row
            .try_get(0)
            .map_err(|error| self.pool.unavailable(error))?;
        Ok(String::from_utf8_lossy(content).into_owned())
    }

    pub(super) async fn set_soft(&self, content: &str) -> Result<(), StoreError> {
        let statement = "select zino_set_soft($1)::text";
        let content = content.as_bytes();
        let effort = self.efforts.change_once();
        self.pool
            .query(statement, &[bytes(&content)], effort)
            .await?;
        Ok(())
    }
}
