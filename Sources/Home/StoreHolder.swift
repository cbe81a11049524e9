import Platform
package import Reasons
import Wire

extension Home {
  /// How to stop the process that has the store open: `stop it with systemctl --user stop waymark`.
  package func advice(stopping process: Int32?) -> Step { StoreHolder(process).stopping }
}

/// The process that has a store open, as errors describe it: what it is, and how to stop it.
struct StoreHolder {
  /// The id of the process; nil if it is not known.
  private let process: Int32?
  private let service: String?
  private let isNode: Bool

  init(_ process: Int32?) {
    self.process = process
    let words = process.map(Self.commandLine) ?? []
    isNode = words.first?.hasSuffix("waymark") == true && words.contains("run")
    service = isNode ? process.flatMap(Self.service) : nil
  }

  /// `your node (process 12, the service waymark)`, `process 12`
  var name: String {
    guard let process else { return "another process" }
    guard isNode else { return "process \(process)" }
    return "your node (process \(process)\(service.map { ", the service \($0)" } ?? ""))"
  }

  /// How to stop the process.
  var stopping: Step {
    guard let process, isNode else { return "stop that process" }
    if let service { return Step("stop it with systemctl --user stop \(service)") }
    return Step("stop it with Ctrl-C in its terminal, or kill \(process)")
  }

  /// The words of the command line of a process; empty if the system does not tell.
  private static func commandLine(_ process: Int32) -> [String] {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8) else {
      return []
    }
    return text.split(separator: "\0").map(String.init)
  }

  /// The name of the service to which a process belongs, as `waymark service install` names it; nil if there is none.
  private static func service(_ process: Int32) -> String? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/cgroup", encoding: .utf8) else {
      return nil
    }
    let units = text.split { $0 == "/" || $0.isNewline }
    return units.last { $0.hasPrefix("waymark") && $0.hasSuffix(".service") }.map { String($0.dropLast(8)) }
  }
}
