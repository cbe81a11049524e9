/// Suggestions for a mistyped word.
package enum Suggestion {
  /// Returns the known word that is most similar; nil if none is similar enough.
  package static func nearest(to word: String, among known: [String]) -> String? {
    let typed = word.lowercased()
    let prefixed = known.filter { !typed.isEmpty && $0.hasPrefix(typed) }
    if prefixed.count == 1 { return prefixed.first }
    let distanceMax = typed.count <= 4 ? 1 : 2
    let ranked = known.map { (word: $0, distance: distance(typed, $0)) }
      .filter { $0.distance <= distanceMax }
    return ranked.min { ($0.distance, $0.word) < ($1.distance, $1.word) }?.word
  }

  /// The edit distance: how many letters must be added, removed, changed or swapped with their neighbour.
  package static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left.prefix(64))
    let right = Array(right.prefix(64))
    var rows = [Array(0...right.count)]
    for (i, letter) in left.enumerated() {
      var row = [i + 1]
      for (j, other) in right.enumerated() {
        var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (letter == other ? 0 : 1))
        if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other {
          best = min(best, rows[i - 1][j - 1] + 1)
        }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
