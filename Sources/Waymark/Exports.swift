// The values that cross the library's boundary live with the bytes they are made of: ids, JSON.
@_exported public import Wire
