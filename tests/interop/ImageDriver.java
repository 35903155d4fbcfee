import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.FeaturesImage;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.MetadataBatchLoader;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.fault.FaultHandler;

/**
 * Runs Kafka's own image code: reads sequences of commits from stdin, and writes to stdout each image
 * that MetadataBatchLoader publishes, as the records of a snapshot.
 *
 * In, all numbers int32: per sequence the count of commits; per commit the count of batches; per
 * batch the count of records; per record its size and bytes. Offsets count from 0. -1 ends it.
 *
 * Out, per sequence: the count of records that were refused and their offsets; the count of images,
 * and for each the last offset contained, 1 where applying the delta failed, its metadata.version
 * (0: none), its records as the newest one writes them (count -1: it holds a code that Kafka loads
 * and can't write, such as a security protocol that doesn't exist), and as its own features do (count
 * -1: the same, or it has no metadata.version, or one whose records can't say what is in it).
 */
public class ImageDriver {
    private static final String REFUSED = "Error loading metadata log record from offset ";
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    record Published(int lastOffset, boolean failed, int version, List<byte[]> full, List<byte[]> own) { }

    private final List<Integer> refused = new ArrayList<>();
    private final List<Published> published = new ArrayList<>();
    private boolean applyFailed = false;
    private int offset = 0;

    private final FaultHandler faults = (message, cause) -> {
        if (message.startsWith(REFUSED)) {
            refused.add(Integer.valueOf(message.substring(REFUSED.length())));
        } else {
            applyFailed = true;
        }
        return new RuntimeException(message, cause);
    };
    private final MetadataBatchLoader loader = loader(
        (delta, image, manifest) -> publish(image, manifest.provenance().lastContainedOffset()));

    /** As a node makes it: LogContext moved in 4.4, and from 4.3 on a node says which configs it knows. */
    private MetadataBatchLoader loader(MetadataBatchLoader.MetadataUpdater updater) {
        try {
            Constructor<?> constructor = MetadataBatchLoader.class.getConstructors()[0];
            List<Object> arguments = new ArrayList<>(List.of(
                constructor.getParameterTypes()[0].getConstructor().newInstance(), Time.SYSTEM, faults, updater));
            if (constructor.getParameterCount() > arguments.size()) {
                arguments.add(Class.forName("org.apache.kafka.server.config.DefaultSupportedConfigChecker").getConstructor().newInstance());
            }
            return (MetadataBatchLoader) constructor.newInstance(arguments.toArray());
        } catch (ReflectiveOperationException otherRelease) {
            throw new IllegalStateException(otherRelease);
        }
    }

    /** Ends a commit; Kafka 3.9 asks for no more than who leads. */
    private void flush() {
        try {
            for (Method method : MetadataBatchLoader.class.getMethods()) {
                if (!method.getName().equals("maybeFlushBatches")) continue;
                Object[] arguments = {LeaderAndEpoch.UNKNOWN, true};
                method.invoke(loader, Arrays.copyOf(arguments, method.getParameterCount()));
            }
        } catch (ReflectiveOperationException otherRelease) {
            throw new IllegalStateException(otherRelease);
        }
    }

    /** The level of metadata.version; 0 where the image has none, which Kafka 3.9 takes for its oldest. */
    private static int level(MetadataImage image) {
        try {
            Object found = FeaturesImage.class.getMethod("metadataVersion").invoke(image.features());
            Object version = found instanceof Optional<?> perhaps ? perhaps.orElse(null) : found;
            return version == null ? 0 : ((MetadataVersion) version).featureLevel();
        } catch (ReflectiveOperationException otherRelease) {
            throw new IllegalStateException(otherRelease);
        }
    }

    /** All that an image can say, in the newest version of every record. */
    private static ImageWriterOptions everything() {
        try {
            Class<?> builder = ImageWriterOptions.Builder.class;
            for (Constructor<?> constructor : builder.getConstructors()) {
                if (constructor.getParameterCount() == 0) { // Kafka 3.9, with which ELR need no feature
                    return new ImageWriterOptions.Builder(MetadataImage.EMPTY)
                        .setMetadataVersion(MetadataVersion.latestTesting()).build();
                }
            }
            Object options = builder.getConstructor(MetadataVersion.class).newInstance(MetadataVersion.latestTesting());
            builder.getMethod("setEligibleLeaderReplicasEnabled", boolean.class).invoke(options, true);
            return ((ImageWriterOptions.Builder) options).build();
        } catch (ReflectiveOperationException otherRelease) {
            throw new IllegalStateException(otherRelease);
        }
    }

    private void publish(MetadataImage image, long lastOffset) {
        List<byte[]> own = null;
        int version = level(image);
        if (version > 0) {
            try {
                own = written(image, new ImageWriterOptions.Builder(image).setLossHandler(loss -> { }).build());
            } catch (UnsupportedVersionException elrInAnOldPartitionRecord) {
                own = null;
            } catch (RuntimeException codeWithoutName) {
                own = null;
            }
        }
        List<byte[]> full = null;
        try {
            full = written(image, everything());
        } catch (RuntimeException codeWithoutName) {
            own = null;
        }
        published.add(new Published((int) lastOffset, applyFailed, version, full, own));
        applyFailed = false;
    }

    private static List<byte[]> written(MetadataImage image, ImageWriterOptions options) {
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, options);
        List<byte[]> values = new ArrayList<>();
        for (ApiMessageAndVersion record : writer.records()) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            byte[] value = new byte[SERDE.recordSize(record, cache)];
            SERDE.write(record, cache, new ByteBufferAccessor(java.nio.ByteBuffer.wrap(value)));
            values.add(value);
        }
        return values;
    }

    private void commit(DataInputStream in) throws IOException {
        int batches = in.readInt();
        for (int b = 0; b < batches; b++) {
            int count = in.readInt();
            List<ApiMessageAndVersion> records = new ArrayList<>(count);
            for (int r = 0; r < count; r++) {
                byte[] value = in.readNBytes(in.readInt());
                records.add(SERDE.read(new ByteBufferAccessor(java.nio.ByteBuffer.wrap(value)), value.length));
            }
            loader.loadBatch(Batch.data(offset, 1, 0L, 1, records), LeaderAndEpoch.UNKNOWN);
            offset += count;
        }
        flush();
    }

    private void report(DataOutputStream out) throws IOException {
        out.writeInt(refused.size());
        for (int at : refused) out.writeInt(at);
        out.writeInt(published.size());
        for (Published image : published) {
            out.writeInt(image.lastOffset());
            out.writeInt(image.failed() ? 1 : 0);
            out.writeInt(image.version());
            write(out, image.full());
            write(out, image.own());
        }
        out.flush();
    }

    private static void write(DataOutputStream out, List<byte[]> values) throws IOException {
        out.writeInt(values == null ? -1 : values.size());
        if (values == null) return;
        for (byte[] value : values) {
            out.writeInt(value.length);
            out.write(value);
        }
    }

    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        for (int commits = in.readInt(); commits >= 0; commits = in.readInt()) {
            ImageDriver driver = new ImageDriver();
            for (int c = 0; c < commits; c++) driver.commit(in);
            driver.report(out);
        }
    }
}
