/** A store that keeps drafts, and nothing else. */
export class DraftStore {
  drafts = new Map();
  load() { return Promise.resolve(null); }
  save() {}
  remove() {}
  loadDrafts() { return Promise.resolve(structuredClone([...this.drafts.values()])); }
  saveDraft(key, draft) { this.drafts.set(key, structuredClone(draft)); }
  removeDraft(key) { this.drafts.delete(key); }
}
