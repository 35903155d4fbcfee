import java.io.File;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Reads a segment with Kafka's own classes, in process, for a yardstick that holds no JVM start.
 * Arguments: segment, "walk" | "objects" | "json", passes. Prints "records seconds" for each pass.
 */
public class JvmDecode {
    public static void main(String[] arguments) throws Exception {
        String mode = arguments[1];
        for (int pass = 0; pass < Integer.parseInt(arguments[2]); pass++) {
            long began = System.nanoTime();
            long records = read(new File(arguments[0]), mode);
            System.out.println(records + " " + (System.nanoTime() - began) / 1e9);
        }
    }

    private static long read(File segment, String mode) throws Exception {
        MetadataRecordSerde serde = new MetadataRecordSerde();
        long records = 0;
        long characters = 0;
        try (FileRecords file = FileRecords.open(segment, false)) {
            for (RecordBatch batch : file.batches()) {
                batch.ensureValid();
                for (Record record : batch) {
                    records++;
                    if (mode.equals("walk") || batch.isControlBatch()) {
                        continue;
                    }
                    ByteBufferAccessor value = new ByteBufferAccessor(record.value());
                    ApiMessageAndVersion message = serde.read(value, record.valueSize());
                    if (mode.equals("json")) {
                        characters += MetadataJsonConverters.writeJson(
                            message.message(), message.version()).toString().length();
                    }
                }
            }
        }
        if (characters < 0) {
            throw new IllegalStateException("never, but the text must not be optimized away");
        }
        return records;
    }
}
