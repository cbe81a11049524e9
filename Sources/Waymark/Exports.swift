// The values that cross the library's boundary live with the bytes and files they are made of: ids and JSON; homes,
// passphrases, errors; formats of files.
@_exported public import Home
@_exported public import ImportExport
@_exported public import Wire
