import Membership
import Replication
import Vectors
import Wire

/// Protocol/vectors/session.json.
struct SessionVectors: Decodable {
  struct Certificates: Decodable {
    let name, hash: String
    let statements: [String]
  }

  struct HeadsRow: Decodable {
    let name, bytes, heads, folded: String
  }

  struct State: Decodable {
    struct LaneRow: Decodable {
      let lane: UInt8
      let heads, folded, digest: String
    }

    let name, certificates, hash: String
    let lanes: [LaneRow]
  }

  struct Contents: Decodable {
    struct Field: Decodable {
      let number: FieldNumber
      let content: String
    }

    let name, hash: String
    let fields: [Field]
  }

  struct SetRow: Decodable {
    let header, signature, plan, values, id: String
  }

  struct Store: Decodable {
    struct Row: Decodable {
      let question, answer: String
    }

    let name: String
    let lane: UInt8
    let sets: [SetRow]
    let answers: [Row]
  }

  struct IntroductionRow: Decodable {
    let flag, name, transport, bytes, outcome: String
    let member: String?
    let held, kept: [String]
  }

  struct Exchange: Decodable {
    let flag, name, question, answer: String
  }

  struct Ending: Decodable {
    let flag, name, message: String
  }

  struct Needs: Decodable {
    struct Step: Decodable {
      let messages: [String]
      let want: String?
    }

    let name: String
    let held: [String]
    let sets: [SetRow]
    let stored: [Int]
    let steps: [Step]
  }

  struct Serving: Decodable {
    struct Row: Decodable {
      let name, want: String
      let sets: [Int]
    }

    let sets: [SetRow]
    let answers: [Row]
  }

  struct Values: Decodable {
    struct Missing: Decodable {
      let set: Int
      let slots: [Int]
    }

    struct Row: Decodable {
      let name, request, answer: String
    }

    let name: String
    let now: Moment
    let sets: [SetRow]
    let missing: [Missing]
    let answers: [Row]
  }

  struct Fill: Decodable {
    let flag, name, values: String
    let sets: [SetRow]
    let missing: [Int]
  }

  struct Files: Decodable {
    struct Row: Decodable {
      let name, reference: String
      let named: Bool
    }

    let name: String
    let now: Moment
    let sets: [SetRow]
    let files: [Row]
  }

  let certificates: [Certificates]
  let heads: [HeadsRow]
  let states: [State]
  let contents: [Contents]
  let stores: [Store]
  let introductions: [IntroductionRow]
  let exchanges: [Exchange]
  let endings: [Ending]
  let wants: [Needs]
  let serving: Serving
  let values: [Values]
  let fills: [Fill]
  let files: [Files]

  init() throws { self = try vectors("session.json", as: SessionVectors.self) }
}

extension SessionVectors.SetRow {
  func verified() throws -> VerifiedChangeSet {
    let set = try VerifiedChangeSet(
      verifying: RawChangeSet(
        header: expand(header), signature: expand(signature), plan: expand(plan), values: expand(values)))
    guard set.id.raw.bytes == (try expand(id)) else { throw BrokenVector(id) }
    return set
  }
}

/// 32 bytes of a vector.
func bytes32(_ text: String) throws -> Bytes32 {
  guard let bytes = Bytes32(try expand(text)) else { throw BrokenVector(text) }
  return bytes
}

func heldCircle(_ statements: [String]) throws -> Circle {
  try Circle(statements: statements.map { try Statement(expand($0)) }, developmentIssuer: nil)
}
