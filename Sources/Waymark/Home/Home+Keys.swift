package import JSONDocument
import Wire

/// What is known of the keys of a home without opening them.
extension Home {
  /// For each key file of this home whether it is sealed: `sealed`, `plain`, `unreadable`, or null if there is none.
  package var keyStates: JSON { keeping.keyStates }
}
