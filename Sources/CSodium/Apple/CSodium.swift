// Compiled on a Mac only, where libsodium comes from the package swift-sodium. This file has been neither compiled nor
// run.

@_exported public import Clibsodium
