/// A program that imports the client also gets the values that it speaks in: messages and
/// conversations, gaps and heads, drafts and updates. They are modules of their own because the
/// gateway uses them too, or to keep them pure.
@_exported import Chat
@_exported import ClientCore
@_exported import JSON
@_exported import Wire
