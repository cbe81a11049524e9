import Home
import Platform
import SQLite
import Waymark

let arguments = Array(CommandLine.arguments.dropFirst())
ProcessGuard.hideTickets()
ProcessGuard.holdStandardDescriptors()
ProcessGuard.raise()
ProcessSettings.countNoMemory()
let application = Application(
  arguments: arguments, environment: ProcessInfo.processInfo.environment)
exit(await application.run())
