// Protocol/files.md, "Requests"

/// What is stored of a file that has arrived in part.
package struct PartialFile: Sendable {
  package let list: LeafList
  /// The leaves that are stored and verified.
  package var leaves: LeafSet

  package init(list: LeafList, leaves: LeafSet) {
    precondition(leaves.leafCount == list.hashes.count, "\(leaves.leafCount) of \(list.hashes.count) leaves")
    self.list = list
    self.leaves = leaves
  }
}
