import Foundation
import Waymark

ProcessGuard.holdStandardDescriptors()
ProcessGuard.raise()
let application = Application(
  arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
exit(await application.run())
